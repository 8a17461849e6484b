"""Small sets in the formats of the published ones, with texts of their own, for lessons to be made from."""

import json
from pathlib import Path
from random import Random
from typing import Any

NAMES = ["Harlow", "Denby", "Marwick", "Tolland", "Esker", "Quennell", "Ravel", "Sorby", "Upwell", "Farrow"]
TOWNS = ["Oldcastle", "Brinmouth", "Cawdor Hill", "Lindale", "Port Emery"]
PEOPLE = ["Mary Ellis", "John Carrick", "Anna Holt", "Peter Lowe", "Ruth Vane", "Simon Dacre", "Clara Moss"]
NAMES_ZH = ["云川", "石湾", "青岭", "白沙", "长桥", "金水", "南渡", "东溪", "西泽", "北辰"]
TOWNS_ZH = ["临河市", "安平县", "望海镇", "新丰市", "柳州县"]
PEOPLE_ZH = ["陈志远", "林秀英", "周文海", "吴丽华", "赵德明", "孙晓梅", "何建国"]


def write(folder: Path, size: int = 60) -> Path:
    """Writes all files; `size` is the number of rows of the larger ones. The same for the same size."""
    chance = Random(1)
    sets = {
        "halueval_qa_generated": [_bridge(number, chance) for number in range(size)],
        "cmrc2018_dev": [row for number in range(size) for row in _bridge_zh(number, chance)],
        "ape210k_valid": [_apples(number, chance) for number in range(size * 2)],
        "gsm8k_train": [_pencils(chance) for _ in range(size * 2)],
        "gsm8k_model_solutions": [_solutions(chance) for _ in range(8)],
        "humaneval_problems": [_function(number) for number in range(2)],
    }
    folder.mkdir(exist_ok=True)
    for name, rows in sets.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def _bridge(number: int, chance: Random) -> dict[str, Any]:
    name = f"{NAMES[number % 10]} {['Bridge', 'Tower', 'Mill', 'Chapel', 'Library', 'Station'][number // 10 % 6]}"
    town, (builder, owner) = chance.choice(TOWNS), chance.sample(PEOPLE, 2)
    year, wrong = chance.sample(range(1750, 1990), 2)
    text = (
        f"The {name} is a listed building in {town}, near the old harbour. It was built in {year} by {builder} for "
        f"{chance.randrange(20, 900)} pounds. It was later sold to {owner}, who repaired the roof in {year + chance.randrange(3, 40)}."
    )
    if number % 2:
        asked = {"question": f"Who built the {name}?", "right_answer": builder, "hallucinated_answer": owner}
    else:
        asked = {
            "question": f"In what year was the {name} built?",
            "right_answer": str(year),
            "hallucinated_answer": str(wrong),
        }
    if number % 5 == 0:
        asked["hallucinated_answer"] = f"The {name} was built by {owner} with help from the town of {town}."
    return {"knowledge": text} | asked


def _bridge_zh(number: int, chance: Random) -> list[dict[str, Any]]:
    name = f"{NAMES_ZH[number % 10]}{['大桥', '水库', '车站', '图书馆', '公园', '铁路'][number // 10 % 6]}"
    town, (builder, owner) = chance.choice(TOWNS_ZH), chance.sample(PEOPLE_ZH, 2)
    year = chance.randrange(1900, 1990)
    text = (
        f"{name}位于{town}，靠近老港口。{name}由{builder}设计，于{year}年建成，耗资{chance.randrange(20, 900)}万元。"
        f"{year + chance.randrange(3, 20)}年，{owner}主持了扩建工程。{name}每年接待{chance.randrange(30, 99)}万名游客。"
    )
    asked = [
        (f"{name}是谁设计的？", builder),
        (f"{name}的扩建工程由谁主持？", owner),
        (f"{name}是哪一年建成的？", f"{year}年"),
    ]
    return [
        {"id": f"{number}_{at}", "context": text, "question": question, "answers": [answer]}
        for at, (question, answer) in enumerate(asked)
    ]


def _apples(number: int, chance: Random) -> dict[str, Any]:
    a, b, c = chance.randrange(11, 60), chance.randrange(3, 9), chance.randrange(61, 99)
    if number % 2:
        return {
            "original_text": f"一箱苹果重{a}千克，{b}箱苹果一共重多少千克？",
            "ans": str(a * b),
            "equation": f"x={a}*{b}",
        }
    text = f"商店有{b}箱梨，每箱{a}千克，又运来{c}千克，现在一共有多少千克？"
    return {"original_text": text, "ans": str(a * b + c), "equation": f"x={b}*{a}+{c}"}


def _pencils(chance: Random) -> dict[str, Any]:
    a, b, c = chance.randrange(11, 60), chance.randrange(3, 9), chance.randrange(61, 99)
    return {
        "question": f"A shop has {b} boxes with {a} pencils each and {c} single pencils. How many pencils are there in the shop?",
        "answer": f"The boxes hold {b} * {a} = <<{b}*{a}={a * b}>>{a * b} pencils.\n"
        f"In all there are {a * b} + {c} = <<{a * b}+{c}={a * b + c}>>{a * b + c} pencils.\n#### {a * b + c}",
    }


def _solutions(chance: Random) -> dict[str, Any]:
    row = _pencils(chance)
    worked, _, answer = row["answer"].partition("\n#### ")
    right = f"{worked}\nA: {answer}"
    first, last = worked.split("\n")
    wrong = f"{first}\n{last.replace(answer, str(int(answer) + 10))}\nA: {int(answer) + 10}"
    return {
        "question": row["question"],
        "ground_truth": right,
        "6b_finetuning": {"is_correct": False, "solution": wrong},
        "175b_verification": {"is_correct": True, "solution": right},
    }


def _function(number: int) -> dict[str, Any]:
    prompt = f'def add_{number}(a, b):\n    """Add the numbers and {number}.\n    >>> add_{number}(2, 3)\n    {5 + number}\n    """\n'
    return {"task_id": f"HumanEval/{number}", "prompt": prompt, "canonical_solution": f"    return a + b + {number}\n"}
