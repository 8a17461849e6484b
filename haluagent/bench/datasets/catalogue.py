"""The catalogue of labelled sets: their descriptions, sources and readers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from haluagent.bench.datasets import factool as claims
from haluagent.bench.datasets import grounded, judged, made
from haluagent.bench.datasets.fetch import FileSource
from haluagent.bench.datasets.items import Item
from haluagent.types import Language, Record

EN: tuple[Language, ...] = ("en",)
ZH: tuple[Language, ...] = ("zh",)
NO_WEB = "most of it cannot be decided without a search of the web"


class Dataset(Record):
    """A labelled set.

    `n` is the number of published items, if known; for FacTool and RAGTruth fewer may be read. `level` says whether
    only responses are labelled or sentences as well. `passages` names a field whose texts can be indexed as a search
    corpus; it is not the evidence for the item itself.
    """

    name: str
    title: str
    level: Literal["response", "sentence"]
    languages: tuple[Language, ...]
    n: int | None
    licence: str
    reference: bool
    sources: tuple[FileSource, ...]
    note: str
    passages: str | None = None
    read: Callable[[Path], Iterator[Item]] = Field(exclude=True, repr=False)


def _haluagent(file: str, path: str) -> tuple[FileSource, ...]:
    return (
        FileSource(
            file=file,
            host="github",
            repository="Xiaoxue-xx/HaluAgent",
            revision="ebb1c691d9b90f02c2086f5dbbb208b063597d65",
            path=f"data/test_datasets/{path}",
        ),
    )


def _factool(
    file: str, path: str, revision: str = "e02bc8b16125feeb06409fefe346b18dfeab898e"
) -> tuple[FileSource, ...]:
    repository = "GAIR-NLP/factool"
    return (FileSource(file=file, host="github", repository=repository, revision=revision, path=f"datasets/{path}"),)


HALUBENCH = FileSource(
    file="halubench.parquet",
    host="huggingface",
    repository="PatronusAI/HaluBench",
    revision="65ce786bfeb6b15c51bc3a4ba29a8ad97df254ce",
    path="data/test-00000-of-00001.parquet",
)
FAITHBENCH = FileSource(
    file="faithbench.csv",
    host="github",
    repository="vectara/FaithBench",
    revision="778451f469106655e6374f495eef1e3567520bfc",
    path="FaithBench.csv",
)
RAGTRUTH = tuple(
    FileSource(
        file=file,
        host="github",
        repository="ParticleMedia/RAGTruth",
        revision="f767afd0b3c222c30e2058a13ea7a645edbd14c9",
        path=f"dataset/{file}",
    )
    for file in ("response.jsonl", "source_info.jsonl")
)
HALUEVAL = tuple(
    FileSource(
        file=file,
        host="github",
        repository="RUCAIBox/HaluEval",
        revision="0c6f4dd6ab5e5f7a593dd1505936dd8b6874bfa5",
        path=f"data/{file}",
    )
    for file in ("qa_data.json", "dialogue_data.json", "summarization_data.json", "general_data.json")
)
TOOLS = _haluagent("translation_date.json", "translation&date_calculation.json")

_ALL = (
    Dataset(
        name="webqa", title="WebQA", level="response", languages=ZH, n=100, licence="none stated", reference=False,
        sources=_haluagent("webqa.json", "webqa_test_100.json"),
        read=judged.judged("webqa", judged.WebQA, "zh"), passages="output",
        note="ChatGPT's answers to questions of Baidu Zhidao; its passages may be indexed as a search corpus",
    ),
    Dataset(
        name="ape210k", title="Ape210K", level="response", languages=ZH, n=100, licence="none stated", reference=False,
        sources=_haluagent("ape210k.json", "ape_test_100.json"),
        read=judged.judged("ape210k", judged.Ape210K, "zh"),
        note="ChatGPT's answers to word problems of primary school",
    ),
    Dataset(
        name="humaneval", title="HumanEval", level="response", languages=ZH, n=63, licence="none stated", reference=False,
        sources=_haluagent("humaneval.json", "codellama-34b-humaneval_test_63.json"),
        read=judged.judged("humaneval", judged.HumanEval, None),
        note="Code Llama's programs; the answer holds the code and its tests",
    ),
    Dataset(
        name="wordcnt", title="WordCnt", level="response", languages=ZH, n=100, licence="none stated", reference=False,
        sources=_haluagent("wordcnt.json", "word_cnt_test_100.json"),
        read=judged.judged("wordcnt", judged.WordCnt, "zh"),
        note="texts of a length that is asked for, in characters; right only with just that length",
    ),
    Dataset(
        name="halueval_qa", title="HaluEval-QA", level="response", languages=EN, n=100, licence="MIT", reference=True,
        sources=_haluagent("halueval_qa.json", "halueval_qa-100.json"),
        read=judged.halueval_qa,
        note="right answers are short spans and wrong ones sentences: the length alone tells most of them apart",
    ),
    Dataset(
        name="halluqa", title="HalluQA", level="response", languages=ZH, n=206, licence="none stated", reference=False,
        sources=_haluagent("halluqa.json", "halluqa.json"),
        read=judged.judged("halluqa", judged.HalluQA, "zh"),
        note=f"knowledge questions, two answers in three wrong; {NO_WEB}",
    ),
    Dataset(
        name="halueval2", title="HaluEval 2.0", level="response", languages=EN, n=100, licence="none stated", reference=False,
        sources=_haluagent("halueval2.json", "halueval2.0_100_test.json"),
        read=judged.judged("halueval2", judged.JudgedRow, "en"),
        note=f"long answers of five fields, two in three wrong; {NO_WEB}",
    ),
    Dataset(
        name="translation", title="Translation", level="response", languages=ZH, n=None, licence="none stated", reference=False,
        sources=TOOLS, read=judged.tool_questions("翻译"),
        note="one half of the file for the two added tools (100 items together)",
    ),
    Dataset(
        name="date", title="Date", level="response", languages=ZH, n=None, licence="none stated", reference=False,
        sources=TOOLS, read=judged.tool_questions("共有多少天"),
        note="days between two dates; the other half of the file for the two added tools",
    ),
    Dataset(
        name="factool_kbqa", title="FacTool KB-QA", level="sentence", languages=EN, n=None, licence="Apache-2.0",
        reference=False, sources=_factool("factool_knowledge_qa.jsonl", "knowledge_qa/knowledge_qa.jsonl"),
        read=claims.knowledge_qa,
        note=f"claims are the sentences; {NO_WEB}",
    ),
    Dataset(
        name="factool_math", title="FacTool math", level="sentence", languages=EN, n=None, licence="Apache-2.0",
        reference=False, sources=_factool("factool_math.jsonl", "math/math.jsonl"),
        read=claims.math,
        note="calculations with their results are the sentences; some have no label",
    ),
    Dataset(
        name="factool_science", title="FacTool science", level="sentence", languages=EN, n=None, licence="Apache-2.0",
        reference=False, sources=_factool("factool_scientific.jsonl", "scientific/scientific.jsonl"),
        read=claims.science,
        note=f"cited papers, put as sentences by us, four in five wrong; {NO_WEB}",
    ),
    Dataset(
        name="factool_chinese", title="FacTool Chinese", level="sentence", languages=ZH, n=None, licence="Apache-2.0",
        reference=False,
        sources=_factool(
            "factool_chinese.jsonl", "chinese/factool_output.jsonl", "72906385da9ccd4d137662ca0985c4734ad1525d"
        ),
        read=claims.chinese,
        note="labels made by FacTool itself, not by people: agreement with it, not truth; its evidence is not shown",
    ),
    Dataset(
        name="halubench", title="HaluBench", level="response", languages=EN, n=14900, licence="CC BY-NC 2.0", reference=True,
        sources=(HALUBENCH,), read=grounded.halubench,
        note="Parquet: needs pyarrow; holds items of HaluEval, RAGTruth and others",
    ),
    Dataset(
        name="ragtruth", title="RAGTruth", level="response", languages=EN, n=None, licence="MIT", reference=True,
        sources=RAGTRUTH, read=grounded.ragtruth,
        note="test split, responses of good quality; wrong where a span is annotated",
    ),
    Dataset(
        name="halueval", title="HaluEval", level="response", languages=EN, n=None, licence="MIT", reference=True,
        sources=HALUEVAL, read=grounded.halueval,
        note="QA, dialogue, summarization (two items a row) and general (no reference), in this order",
    ),
    Dataset(
        name="faithbench", title="FaithBench", level="response", languages=EN, n=None, licence="CC BY-NC-SA", reference=True,
        sources=(FAITHBENCH,), read=grounded.faithbench,
        note="hard summaries; wrong where the worst annotation is Unwanted or Questionable, right where Benign",
    ),
    Dataset(
        name="cmrc2018", title="CMRC 2018, answers with a change", level="response", languages=ZH, n=400, licence="CC BY-SA 4.0",
        reference=True,
        sources=(
            FileSource(
                file="cmrc2018_dev.json", host="github", repository="ymcui/cmrc2018",
                revision="7680ab3a7a1e3ac0d53ad13f7a4d6a3adff1da6a", path="data/cmrc2018_dev.json",
            ),
        ),
        read=made.cmrc,
        note="made by us: a right answer and a wrong one of the same form for each of 200 passages that no model was fine-tuned on",
    ),
)  # fmt: skip
DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
