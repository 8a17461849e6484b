"""The page in a real browser, served by the real server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.detection.verdict import combine
from haluagent.errors import ModelError
from haluagent.events import Action, Answered, Event, Found, Observation, Revised, Thought, Verdict
from haluagent.train.trajectories.judgements import read
from haluagent.types import (
    Coverage,
    Detection,
    Evidence,
    Label,
    MemoryEntry,
    Revision,
    Sentence,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)

pytestmark = pytest.mark.browser

HOSTILE = '</script><script>window.bad = 1</script><img src=x onerror="window.bad = 1"><b>bold</b>'
TEXTS = {
    "question": "How tall is it?",
    "response": f"𝒳😀 It is tall.\n\nIt is wrong {HOSTILE}. Nobody is unknown. Well, hello. It was revised.",
    "reference": f"𝒳😀 a preface {HOSTILE} and then THE PLACE in the middle, after that the rest.",
}
LABELS: dict[str, Label] = {"wrong": "contradicted", "unknown": "unverified", "hello": "no_claim"}


class Script(HaluAgent):
    """Says what the words of a sentence ask for. While `held`, it waits before each sentence until the test calls `go`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, sandbox="none", search="none")
        self.control: dict[str, Any] = {"held": False, "go": 0, "asked": []}

    def go(self) -> None:
        self.control["go"] += 1

    async def astream(
        self, question: str, response: str, reference: str | None = None, language: Any = "auto"
    ) -> AsyncIterator[Event]:
        self.control["asked"].append({"question": question, "response": response, "reference": reference})
        spans = [match.span() for match in re.finditer(r"\S.*?\.(?=\s|$)", response)]
        sentences = [Sentence(index=i, text=response[a:b], span=(a, b)) for i, (a, b) in enumerate(spans, 1)]
        for sentence in sentences:
            yield Found(sentence=sentence)
        whole = Sentence(index=0, text=response, span=(0, len(response)))
        as_whole = MemoryEntry(sentence=whole, label="supported", reason="as long as asked")
        yield Verdict(entry=as_whole)
        entries, steps = [], []
        for done, sentence in enumerate(sentences):
            call = ToolCall(name="match", arguments={"sentence": sentence.name, "note": HOSTILE})
            yield Thought(sentence=sentence.index, text=f"let us see {HOSTILE}")
            yield Action(sentence=sentence.index, call=call)
            while self.control["held"] and self.control["go"] <= done:
                await asyncio.sleep(0.01)
            if "break" in sentence.text:
                raise ModelError("the endpoint did not answer")
            first, entry = judge(sentence, reference or "")
            step = Step(
                sentence=sentence.index,
                thought="let us see",
                call=call,
                result=ToolResult(observation=HOSTILE, label=entry.label),
            )
            yield Observation(sentence=sentence.index, step=step, text=HOSTILE)
            yield Verdict(entry=first)
            if entry != first:
                yield Revised(entry=entry)
            entries.append(entry)
            steps.append(step)
        entries.append(as_whole)
        usage = Usage(calls=3, prompt_tokens=100, cached_tokens=40, generated_tokens=9, seconds=1.5)
        found, score = combine(entries)
        yield Answered(detection=Detection(
            question=question, response=response, language="en", hallucination=found, score=score, sentences=tuple(entries),
            steps=tuple(steps), usage=usage, coverage=Coverage(reference=0.5 if reference else None),
        ))  # fmt: skip


def judge(sentence: Sentence, reference: str) -> tuple[MemoryEntry, MemoryEntry]:
    """The entry before reflection and after it."""
    label: Label = next((label for word, label in LABELS.items() if word in sentence.text), "supported")
    start = reference.find("THE PLACE")
    evidence = (
        Evidence(
            source="reference", text=HOSTILE, span=(start, start + len("THE PLACE")) if start >= 0 else None, score=0.9
        ),
        Evidence(source="web_search", text="a page", url="https://example.org/page"),
        Evidence(source="web_search", text="no page", url="javascript:window.bad=1"),
    )
    entry = MemoryEntry(
        sentence=sentence, label=label, evidence=evidence if label == "contradicted" else (), tool="match", confidence=0.9,
        reason=f"it says so {HOSTILE}" if label == "contradicted" else "",
    )  # fmt: skip
    if "revised" not in sentence.text:
        return entry, entry
    before = Revision(label="unverified", reason="nothing found at first")
    return entry.model_copy(update={"label": "unverified"}), entry.model_copy(
        update={"revised_from": before, "reason": "looked again"}
    )


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, Script]]:
    """The address of a server, and its agent."""
    from scripted import ScriptedModel
    from serving import serving

    agent = Script(ScriptedModel())
    with serving(agent) as url:
        yield url, agent


Open = Callable[..., Any]


@pytest.fixture(autouse=True)
def not_held(site: tuple[str, Script]) -> None:
    site[1].control.update(held=False, go=0)


def check(page: Any, texts: dict[str, str] = TEXTS) -> None:
    for name, text in ({"question": "Well?"} | texts).items():
        page.locator(f"#{name}").fill(text)
    page.get_by_role("button", name=re.compile("^(Check|核查)")).click()


def finish(page: Any, texts: dict[str, str] = TEXTS) -> None:
    check(page, texts)
    page.locator("#again").wait_for()


def answered(route: Any, answer: dict[str, Any] | None) -> None:
    """The server's answer to a request, or none."""
    if answer is None:
        route.abort()
    else:
        route.fulfill(**answer)


def states(page: Any) -> list[str]:
    return [item.get_attribute("class").split()[1] for item in page.locator(".sentence").all()]


def test_files_are_served_to_be_asked_for_again_under_a_strict_policy(site: tuple[str, Script]) -> None:
    import httpx

    kinds = {
        "/": "text/html",
        "/page/main.js": "text/javascript",
        "/page/page.css": "text/css",
        "/page/icon.svg": "image/svg+xml",
    }
    for path, kind in kinds.items():
        answer = httpx.get(site[0] + path)
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'; "
        )
        assert answer.headers["cache-control"] == "no-cache"
        again = httpx.get(site[0] + path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert httpx.get(f"{site[0]}/page/page.py").status_code == 404
    assert httpx.get(f"{site[0]}/page/..%2fpage.py").status_code == 404


def test_no_text_is_ever_parsed_as_markup() -> None:
    sinks = r"innerHTML|insertAdjacentHTML|outerHTML\s*=|document\.write|DOMParser|srcdoc|\beval\b|Function\(|setHTML|ContextualFragment"
    for item in files("haluagent.server").joinpath("page").iterdir():
        text = item.read_text(encoding="utf-8")
        assert not re.search(sinks, text), item.name
        assert item.name == "icon.svg" or not re.search(r"https?://", text), item.name
        assert not item.name.endswith(".js") or text.count("\n") < 250, item.name


def test_both_languages_have_the_same_texts(open_page: Open) -> None:
    english, chinese = (
        set(
            re.findall(r'([\w-]+)"?: "', files("haluagent.server").joinpath(f"page/texts_{name}.js").read_text("utf-8"))
        )
        for name in ("en", "zh")
    )
    assert english - {"other", "other_label"} == chinese - {"other", "other_label"}
    page = open_page(locale="zh-CN")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    assert page.locator("h1:visible").inner_text() == "这个回答里，哪些是编造的？"
    finish(page)
    assert page.locator("#verdict").inner_text() == "✗ 发现幻觉"
    assert "与依据矛盾" in page.locator(".sentence.contradicted").inner_text()
    page.get_by_role("button", name="Switch to English").click()
    assert page.locator("#verdict").inner_text() == "✗ Hallucination found"
    page.reload()  # remembered
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.core
def test_sentences_light_up_one_after_the_other(open_page: Open, site: tuple[str, Script]) -> None:
    agent = site[1]
    agent.control["held"] = True
    page = open_page()
    check(page)
    page.locator(".sentence.checking").wait_for()
    assert states(page) == ["checking", "waiting", "waiting", "waiting", "waiting"]
    assert "checking…" in page.locator(".sentence").first.inner_text()
    page.locator(".sentence").nth(0).click()
    assert "match(sentence=S1" in page.locator("#panel .steps").inner_text()  # what is being done at the moment
    page.keyboard.press("Escape")
    for done, label in enumerate(["supported", "contradicted", "unverified", "no_claim"], 1):
        agent.go()
        page.locator(f".sentence.{label}").wait_for()
        page.locator(f".sentence.checking[data-index='{done + 1}']").wait_for()
        assert states(page)[done:] == ["checking", "waiting", "waiting", "waiting"][: 5 - done]
        assert (
            page.locator("#live").inner_text().startswith(f"{done} of 5 sentences checked")
        )  # the whole response is no sentence
    agent.go()
    page.locator("#again").wait_for()
    assert states(page) == ["supported", "contradicted", "unverified", "no_claim", "supported"]
    assert page.locator("#live").inner_text() == "Hallucination found. 1 of 5 claims contradicted, 1 not verified"
    filters = page.locator(".filter:visible").all_inner_texts()
    assert filters == ["All 5", "✗ contradicted 1", "✓ supported 2", "? not verified 1", "· nothing to check 1"]


def test_what_the_reader_does_outlives_a_redraw(open_page: Open, site: tuple[str, Script]) -> None:
    agent = site[1]
    agent.control["held"] = True
    page = open_page()
    check(page)
    page.locator(".sentence.checking").wait_for()

    def press(target: Any, then: str) -> None:
        """The mouse goes down on it, a sentence is judged, the mouse goes up."""
        target.hover()
        page.mouse.down()
        agent.go()
        page.locator(then).wait_for()
        page.mouse.up()

    press(page.locator(".sentence .words").nth(1), ".sentence.checking[data-index='2']")
    assert page.locator("#panel h2").inner_text() == "Sentence 2"
    press(page.locator("#panel code"), ".sentence.checking[data-index='3']")
    assert page.locator("#panel h2").inner_text() == "Sentence 2"
    page.locator(".sentence .words").nth(2).evaluate("words => getSelection().selectAllChildren(words)")
    agent.go()
    page.locator(".sentence.checking[data-index='4']").wait_for()
    assert page.evaluate("getSelection().toString()") == "Nobody is unknown."
    press(page.locator("[data-show='supported']"), ".sentence.checking[data-index='5']")
    assert page.locator("[data-show='supported']").get_attribute("aria-pressed") == "true"
    assert page.locator(".sentence:not(.away)").count() == 1
    assert page.get_by_role("button", name="Recent checks").is_disabled()  # it would take the place of this one
    agent.go()
    page.locator("#again").wait_for()
    assert page.get_by_role("button", name="Recent checks").is_enabled()


@pytest.mark.core
def test_a_sentence_shows_why_and_where(open_page: Open, site: tuple[str, Script]) -> None:
    page = open_page()
    finish(page)
    assert site[1].control["asked"][-1] == TEXTS
    overview = page.locator("#panel").inner_text()
    for part in ("0.90", "response 100 %, reference 50 %", "The reference was too long", "The response as a whole", "as long as asked",
                 "3 model calls, 60 tokens evaluated, 40 cached, 9 generated, 1.5 s"):  # fmt: skip
        assert part.lower() in overview.lower()
    page.locator(".sentence.contradicted").click()
    assert page.locator("#source mark").all_inner_texts() == ["THE PLACE"]
    panel = page.locator("#panel")
    parts = (
        "Sentence 2",
        "Confidence 90 %",
        f"it says so {HOSTILE}",
        "let us see",
        "match(sentence=S2",
        "score 0.90",
        "found by match",
    )
    for part in parts:
        assert part in panel.inner_text()
    links = [
        (item.get_attribute("href"), item.get_attribute("rel"), item.get_attribute("target"))
        for item in panel.locator("a").all()
    ]
    assert links == [("https://example.org/page", "noopener noreferrer", "_blank")]
    page.locator(".sentence").nth(4).click()
    assert "before reflection: not verified (nothing found at first)" in panel.inner_text()
    assert page.locator("#source mark").count() == 0
    # Everything of the response is there, and each sentence is where it stands.
    assert page.locator(".sentence .words").all_inner_texts()[:2] == ["𝒳😀 It is tall.", f"It is wrong {HOSTILE}."]
    page.locator("#answered").evaluate("box => box.querySelectorAll('.tag').forEach((tag) => tag.remove())")
    assert page.locator("#answered").text_content().replace("\u00a0", "") == TEXTS["response"]


# Draws a response of 1,000 sentences, then gives one its verdict and says what was touched.
THOUSAND = """async () => {
    const { Check } = await import("/page/check.js");
    const view = await import("/page/view.js");
    const text = (i) => `Sentence ${String(i).padStart(4, "0")} says something.`;
    const length = text(1).length + 1;
    const response = Array.from({ length: 1000 }, (_, i) => text(i + 1)).join(" ");
    const sentence = (i) => ({ index: i, text: text(i), span: [(i - 1) * length, i * length - 1], standalone: null });
    const check = new Check({ question: "", response, reference: "" });
    document.getElementById("ask").hidden = true;
    document.getElementById("result").hidden = false;
    view.show(check);
    for (let i = 1; i <= 1000; i++) check.apply({ kind: "sentence", sentence: sentence(i) });
    view.redraw();
    const box = document.getElementById("answered");
    const watch = new MutationObserver(() => {});
    watch.observe(box, { subtree: true, childList: true, attributes: true, characterData: true });
    check.apply({ kind: "verdict", entry: { sentence: sentence(500), label: "supported", evidence: [], confidence: 1, reason: "" } });
    view.redraw();
    const parts = watch.takeRecords().map(({ target }) => (target.nodeType === Node.TEXT_NODE ? target.parentElement : target));
    const touched = [...new Set(parts.map((part) => part.closest(".sentence")?.dataset.index ?? part.className))];
    const shown = [...box.querySelectorAll(".group")].filter((group) => group.firstChild.checkVisibility({ contentVisibilityAuto: true }));
    return { touched, groups: box.children.length, shown: shown.length, same: box.textContent.includes("0001 says something.") };
}"""


def test_a_verdict_among_a_thousand_sentences_touches_its_own_alone(open_page: Open) -> None:
    drawn = open_page().evaluate(THOUSAND)
    assert drawn["touched"] == ["500"] and drawn["same"]
    assert drawn["groups"] == 17 and drawn["shown"] < 10  # what is off the screen is not laid out


def test_it_works_from_the_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    page.locator("#question").focus()
    page.keyboard.type("Well?")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("One is right. Two is wrong. Three is wrong.")
    page.keyboard.press("Control+Enter")
    page.locator("#again").wait_for()
    focused = "document.activeElement"
    assert page.evaluate(f"{focused}.id") == "verdict"
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focused}.classList.contains('sentence')"):
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#panel h2").inner_text() == "Sentence 2"
    assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    assert page.locator("#panel h2").inner_text() == "Sentence 3"
    page.keyboard.press("Escape")
    assert page.locator("#panel.open").count() == 0
    assert page.evaluate(f"{focused}.dataset.index") == "3"
    page.get_by_role("button", name="contradicted 2").press("Enter")
    assert page.get_by_role("button", name="contradicted 2").get_attribute("aria-pressed") == "true"
    assert page.locator(".sentence:not(.away)").count() == 2
    page.locator(".sentence[data-index='2']").press("ArrowLeft")  # there is none before it
    assert page.evaluate(f"{focused}.dataset.index") == "2"


def test_a_report_is_saved_as_json_and_as_a_page_of_its_own(open_page: Open, chromium: Any, tmp_path: Path) -> None:
    page = open_page()
    finish(page)
    saved = {}
    for kind, name in (("json", "Save JSON"), ("html", "Save report")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
    detection = Detection.model_validate_json(saved["json"].read_text(encoding="utf-8"))
    labels = [entry.label for entry in detection.sentences]
    assert labels == ["supported", "contradicted", "unverified", "no_claim", "supported", "supported"]
    assert detection.response == TEXTS["response"]
    report = chromium.new_page()
    said: list[str] = []
    asked: list[str] = []
    report.on("console", lambda message: said.append(message.text))
    report.on("request", lambda request: asked.append(request.url))
    report.goto(saved["html"].as_uri())
    assert report.locator("script, img").count() == 0 and report.evaluate("window.bad") is None
    assert report.locator("a.sentence .words").all_inner_texts() == [
        entry.sentence.text for entry in detection.sentences[:-1]
    ]
    assert report.locator("article.card").count() == 7  # the overview, five sentences, the whole
    assert HOSTILE in report.locator("#card-2").inner_text()
    assert report.locator("mark").all_inner_texts() == ["THE PLACE"]
    assert (
        report.locator(".tag.contradicted").first.evaluate("tag => getComputedStyle(tag).color") == "rgb(162, 35, 27)"
    )
    assert (said, asked) == ([], [saved["html"].as_uri()])
    report.close()


def test_labels_are_given_and_saved_for_a_calibration(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    finish(page, {"question": "Q?", "response": "It is right.", "reference": TEXTS["reference"]})
    assert page.get_by_role("button", name="Save my labels").count() == 0
    page.locator(".sentence").click()
    choices = page.locator("[data-right]")
    assert choices.all_inner_texts() == ["supported", "contradicted", "not in the reference"]
    for wanted in ("contradicted", "not_in_reference", "not_in_reference", "contradicted"):  # the third takes it back
        page.locator(f'[data-right="{wanted}"]').click()
    assert choices.evaluate_all("all => all.map((one) => one.getAttribute('aria-pressed'))") == [
        "false",
        "true",
        "false",
    ]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New check").click()
    finish(page, {"question": "Q?", "response": "It is wrong. It is right.", "reference": "Another text."})
    page.locator(".sentence").first.click()
    page.locator('[data-right="supported"]').click()
    page.keyboard.press("Escape")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my labels (2)").click()
    download.value.save_as(tmp_path / "mine.jsonl")
    claims = read(tmp_path / "mine.jsonl")
    assert [(one.question, one.claim, one.text, one.label) for one in claims] == [
        ("Q?", "It is right.", TEXTS["reference"], "contradicted"),
        ("", "It is wrong.", "Another text.", "supported"),
    ]
    page.get_by_role("button", name="New check").click()
    finish(page, {"response": "It is right.", "reference": ""})
    page.locator(".sentence").click()
    assert page.locator("[data-right]").count() == 0, "there is no reference to be right beside"
    page.get_by_role("button", name="Recent checks").click()
    page.get_by_role("button", name="Delete all").click()
    assert page.evaluate("localStorage.getItem('haluagent.labelled')") is None


def test_a_check_that_was_stopped_can_be_looked_at(open_page: Open, site: tuple[str, Script]) -> None:
    page = open_page()
    site[1].control.update(held=True, go=1)
    check(page, {"question": "Q?", "response": "It is right. It is wrong.", "reference": TEXTS["reference"]})
    page.locator(".sentence.supported").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator(".sentence").first.click()
    assert page.locator("#card-1").is_visible() and page.locator("[data-right]").count() == 0


def test_recent_checks_stay_in_the_browser_and_can_be_deleted(open_page: Open) -> None:
    page = open_page()
    finish(page, {"question": "First?", "response": "It is wrong."})
    page.get_by_role("button", name="New check").click()
    finish(page, {"question": "Second?", "response": "It is right.", "reference": TEXTS["reference"]})
    # What something else has kept there is passed over.
    page.evaluate("""() => {
        const items = JSON.parse(localStorage.getItem("haluagent.recent"));
        const without = (name) => ({ ...items[0], detection: { ...items[0].detection, [name]: undefined } });
        const less = ["coverage", "steps", "usage"].map(without);
        localStorage.setItem("haluagent.recent", JSON.stringify([...less, null, ...items]));
        localStorage.setItem("haluagent.text.language", "toString");
    }""")
    page.reload()
    page.get_by_role("button", name="Recent checks").click()
    assert page.locator(".recent-title").all_inner_texts() == ["Second?", "First?"]
    page.get_by_role("button", name=re.compile("^Second")).click()
    assert page.locator("#verdict").inner_text() == "✓ No hallucination found"
    assert HOSTILE in page.locator("#source").inner_text()
    page.get_by_role("button", name="Recent checks").click()
    page.get_by_role("button", name="Delete: Second?").click()
    assert page.locator(".recent-title").all_inner_texts() == ["First?"]
    page.get_by_role("button", name="Delete all").click()
    assert page.get_by_text("Nothing yet.").is_visible()
    assert page.evaluate("localStorage.getItem('haluagent.recent')") is None
    page.get_by_role("button", name="Close").click()
    # No room: the check is shown all the same.
    page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"
    )
    page.get_by_role("button", name="New check").click()
    finish(page, {"response": "It is right."})
    assert page.get_by_role("alert").inner_text() == "The browser has no room to keep this."


def test_what_fails_is_said_in_one_sentence(open_page: Open, site: tuple[str, Script]) -> None:
    page = open_page(console="Failed to load resource|ERR_|properties of undefined")
    alert = page.get_by_role("alert")
    page.get_by_role("button", name=re.compile("^Check")).click()
    assert alert.inner_text() == "There is nothing to check yet: fill in the response."
    finish(page, {"response": "It is right. Here we break."})  # an error event in the middle of the stream
    assert alert.inner_text() == "The model could not be reached or failed: the endpoint did not answer"
    assert states(page) == ["supported", "unchecked"]
    assert page.locator("#verdict").inner_text() == "– Not finished"
    busy = {"status": 429, "headers": {"Retry-After": "7"}, "body": '{"error": {"type": "busy", "message": "x"}}'}
    stream = {"content_type": "text/event-stream", "body": 'event: waiting\ndata: {"kind":"waiting","before":2}\n\n'}
    answers: list[tuple[dict[str, Any] | None, str]] = [
        (busy, "Try again in 7 seconds."),
        ({"status": 502, "body": "<h1>Bad gateway</h1>"}, "The server refused: HTTP 502"),
        (stream, "The connection broke off before the check was finished."),
        ({**stream, "body": 'data: {"kind":"verdict","entry":{}}\n\n'}, "Something went wrong in this page"),
        (None, "The server cannot be reached."),
    ]
    for answer, text in answers:
        page.unroute_all()
        page.route("**/v1/detect", partial(answered, answer=answer))
        page.get_by_role("button", name="New check").click()
        finish(page)
        assert text in alert.inner_text()
    page.unroute_all()
    # Stopped by the reader: the detection on the server ends as well.
    site[1].control["held"] = True
    page.get_by_role("button", name="New check").click()
    check(page)
    page.locator(".sentence.checking").wait_for()
    page.get_by_role("button", name="Stop").click()
    assert alert.inner_text() == "Stopped. What was not reached is not checked."
    assert states(page) == ["unchecked"] * 5


def test_a_token_is_asked_for(open_page: Open) -> None:
    from scripted import ScriptedModel
    from serving import serving

    from haluagent.server.settings import ServerSettings

    with serving(Script(ScriptedModel()), ServerSettings(token="a-token-of-twenty", grace=0.2)) as url:
        page = open_page(url, console="401")
        check(page)
        alert = page.get_by_role("alert")
        page.get_by_label("Token", exact=True).wait_for()
        assert alert.count() == 0
        page.get_by_role("button", name="Cancel").click()
        assert alert.inner_text() == "Nothing was checked: this server asks for a token, and none was given."
        page.get_by_role("button", name="New check").click()
        check(page)
        for given in ("no token", "not-the-right-one"):
            page.get_by_label("Token", exact=True).fill(given)
            page.keyboard.press("Enter")
            page.get_by_role("dialog").get_by_text("The server does not accept this token.").wait_for()
            assert alert.inner_text() == "The server does not accept this token. Is it complete?"
        page.get_by_label("Token", exact=True).fill("a-token-of-twenty")
        page.keyboard.press("Enter")
        page.locator("#again").wait_for()
        assert page.locator("#verdict").inner_text() == "✗ Hallucination found"
        assert page.evaluate("[sessionStorage.length, localStorage.getItem('haluagent.token')]") == [1, None]


def test_a_phone_needs_no_sideways_scrolling(open_page: Open) -> None:
    page = open_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    long = {"response": f"It is wrong. {'a' * 200} is {HOSTILE} unknown.", "reference": f"THE PLACE {'b' * 200}"}
    widths = [page.evaluate("document.documentElement.scrollWidth")]
    finish(page, long)
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    page.locator(".sentence.contradicted").click()
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    assert max(widths) <= 360
    box = page.locator("#panel").bounding_box()
    assert box["width"] == 360 and box["y"] + box["height"] == 740  # a sheet at the bottom of the screen
    assert page.locator(".sentence.contradicted").bounding_box()["y"] < box["y"]  # with the sentence above it
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", back))) < 3 * 128) is (scheme == "dark")


def test_files_fill_the_form(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    (tmp_path / "item.json").write_text(json.dumps({**TEXTS, "reference": ["one", "two"]}), encoding="utf-8")
    (tmp_path / "notes.md").write_bytes("\ufeff# Notes\r\n".encode())
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "objects.json").write_text(json.dumps({**TEXTS, "reference": ["one", {}]}), encoding="utf-8")
    (tmp_path / "number.json").write_text(json.dumps({**TEXTS, "question": 7}), encoding="utf-8")
    kept = (0, "one\n\ntwo")
    given = {
        "item.json": kept,
        "objects.json": kept,
        "number.json": kept,
        "notes.md": (1, "# Notes"),
        "bad.txt": (0, "# Notes"),
    }
    for name, (field, reference) in given.items():
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open file…").nth(field).click()
        chooser.value.set_files(tmp_path / name)
        page.wait_for_function("text => document.querySelector('#reference').value === text", arg=reference)
        if name in ("objects.json", "number.json"):
            page.get_by_text(f"{name} is not a JSON object").wait_for()
    page.get_by_text("bad.txt is not UTF-8 text.").wait_for()
    assert page.locator("#response").input_value() == TEXTS["response"]
