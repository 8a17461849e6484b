"""A tool of your own that asks a service: was an exchange rate what a sentence says?

    haluagent detect --tools examples/exchange_rate.py --question "What was a euro worth on 1999-01-04?" \\
        --response "On 1999-01-04, 1 euro was worth 1.25 US dollars."

The rates are the reference rates of the European Central Bank, from frankfurter.dev, which takes no key.
EXCHANGE_RATE_URL names another server with the same interface.
"""

import asyncio
import json
import os
import re
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from haluagent import Demo, Evidence, SearchError, Sentence, ToolContext, ToolError, ToolResult, tool

SECONDS = 10.0
BYTES = 64 * 1024
NEAR = Decimal("0.02")  # banks and exchanges differ by that much, so it is no contradiction
LONGEST_HOLIDAY = timedelta(days=7)  # for a day without a rate, the service answers with the last one before it

NAMES = {
    "EUR": "EUR|euros?|欧元", "USD": "USD|(?:US |U\\.S\\. )?dollars?|美元", "JPY": "JPY|(?:Japanese )?yen|日元",
    "GBP": "GBP|(?:British )?pounds?(?: sterling)?|英镑", "CHF": "CHF|Swiss francs?|瑞士法郎",
}  # fmt: skip
SUM = re.compile(
    r"(?P<amount>\d[\d,]*(?:\.\d+)?|\ban?\b)\s*"
    rf"(?:{'|'.join(f'(?P<{code}>{name})' for code, name in NAMES.items())})(?![A-Za-z])",
    re.IGNORECASE,
)
DAY = re.compile(r"(\d{4})[-年](\d{1,2})[-月](\d{1,2})")

TEXTS = {
    "en": {
        "right": "{one} = {rate} {other} on {day}",
        "wrong": "{one} = {rate} {other} on {day}, not {said}",
        "unclear": "{one} = {rate} {other} on {day}, which is near {said}: this does not decide it",
        "unfit": "a sentence with two sums of money and a date such as 1999-01-04 is needed",
        "no rate": "there is no reference rate for {day}",
        "failed": "the exchange rates could not be asked for: {why}",
    },
    "zh": {
        "right": "{day}：{one} = {rate} {other}",
        "wrong": "{day}：{one} = {rate} {other}，不是 {said}",
        "unclear": "{day}：{one} = {rate} {other}，与 {said} 接近，不足以判定",
        "unfit": "需要含有两个金额和日期（例如 1999年1月4日）的句子",
        "no rate": "没有 {day} 的参考汇率",
        "failed": "无法查询汇率：{why}",
    },
}


class Money(NamedTuple):
    amount: Decimal
    currency: str


class Rate(NamedTuple):
    value: Decimal
    day: date
    url: str


def sums(text: str) -> list[Money]:
    """The sums of money in a text: 1.25 US dollars, 133.73日元."""
    found = []
    for match in SUM.finditer(text):
        amount = Decimal(match["amount"].replace(",", "")) if match["amount"][0].isdigit() else Decimal(1)
        found.append(Money(amount, next(code for code in NAMES if match[code])))
    return found


def day_of(text: str) -> date | None:
    match = DAY.search(text)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:  # no day of the calendar
        return None


def claimed(context: ToolContext, sentence: Sentence) -> tuple[Money, Money, date] | None:
    """What a sentence says that one sum was worth, and when; the day may stand in the question."""
    found, day = sums(sentence.text), day_of(sentence.text) or day_of(context.question)
    if len(found) != 2 or found[0].currency == found[1].currency or not found[0].amount or day is None:
        return None
    return found[0], found[1], day


@tool(
    description={
        "en": "checks what a sum of money was worth in another currency on a day",
        "zh": "核查某一天一笔钱折合另一种货币的金额",
    },
    demos=[
        Demo(
            language="en",
            question="How much was a euro worth when it was introduced?",
            response="On 1999-01-04, 1 euro was worth 1.25 US dollars.",
            thought="an exchange rate on a day",
            call="exchange_rate(sentence=S1)",
            observation="1 EUR = 1.1789 USD on 1999-01-04, not 1.25",
        ),
        Demo(
            language="zh",
            question="1999年1月4日1欧元可以兑换多少日元？",
            response="当天1欧元可兑换133.73日元。",
            thought="这是某一天的汇率",
            call="exchange_rate(sentence=S1)",
            observation="1999-01-04：1 EUR = 133.73 JPY",
        ),
    ],
    when=lambda context, sentence: sentence.index > 0 and claimed(context, sentence) is not None,
)
async def exchange_rate(context: ToolContext, sentence: Sentence) -> ToolResult:
    texts = TEXTS[context.language]
    claim = claimed(context, sentence)
    if claim is None:
        raise ToolError(texts["unfit"])
    one, other, day = claim
    try:
        rate = await ask(one.currency, other.currency, day)
    except SearchError as error:
        raise SearchError(texts["failed"].format(why=error)) from error
    if rate is None or abs(rate.day - day) > LONGEST_HOLIDAY:
        raise ToolError(texts["no rate"].format(day=day))
    true = one.amount * rate.value
    decimals = max(0, -int(other.amount.as_tuple().exponent))
    rounded = round(true, decimals) == other.amount  # 1.18 is right for 1.1789
    near = abs(true - other.amount) <= NEAR * true
    right, wrong = rounded and near, not rounded and not near
    text = texts["right" if right else "wrong" if wrong else "unclear"].format(
        one=f"{one.amount} {one.currency}",
        rate=f"{true.normalize():f}",
        other=other.currency,
        day=rate.day,
        said=other.amount,
    )
    return ToolResult(
        observation=text,
        label="supported" if right else "contradicted" if wrong else None,
        confidence=0.95,
        evidence=(Evidence(source="exchange_rate", text=text, url=rate.url),),
    )


async def ask(base: str, symbol: str, day: date) -> Rate | None:
    """The rate of a day, or of the last day before it that has one; None where there is none. Raises SearchError."""
    import httpx  # here, so that only who asks for a rate waits for it

    server = os.environ.get("EXCHANGE_RATE_URL", "https://api.frankfurter.dev/v1").rstrip("/")
    body = b""
    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(timeout=SECONDS) as client,
            client.stream("GET", f"{server}/{day}", params={"base": base, "symbols": symbol}) as response,
        ):
            if response.status_code == 404:
                return None
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > BYTES:
                    raise SearchError("the answer is too long")
        answer = json.loads(body, parse_float=Decimal, parse_int=Decimal)
        return Rate(Decimal(answer["rates"][symbol]), date.fromisoformat(answer["date"]), str(response.url))
    except TimeoutError as error:
        raise SearchError(f"no answer within {SECONDS:g} s") from error
    except httpx.HTTPError as error:
        raise SearchError(f"{type(error).__name__} {error}".strip()) from error
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise SearchError("the answer is no exchange rate") from error
