"""What is counted of requests, as Prometheus reads it."""

from prometheus_client.parser import text_string_to_metric_families

from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.events import Action, Answered, Found, Observation, Verdict
from haluagent.server.metrics import Metrics
from haluagent.server.watch import Outcome
from haluagent.types import Detection, MemoryEntry, Sentence, Step, ToolCall, ToolResult, Usage

FOUND = Sentence(index=1, text="Paris is in France.", span=(0, 19))
ENTRY = MemoryEntry(sentence=FOUND, label="contradicted")
USED = Usage(calls=1, prompt_tokens=100, cached_tokens=60, generated_tokens=7)


def values(metrics: Metrics) -> dict[str, float]:
    """Every sample that is not 0, by its name and labels; what the process itself needs is left out."""
    families = text_string_to_metric_families(metrics.text().decode())
    samples = (sample for family in families for sample in family.samples if sample.name.startswith("haluagent_"))
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for sample in samples
        if sample.value and not sample.name.endswith(("_created", "_bucket"))
    }


def detection(**fields: object) -> Detection:
    given = {
        "question": "Q",
        "response": FOUND.text,
        "language": "en",
        "hallucination": True,
        "score": 0.9,
        "sentences": (ENTRY,),
    }
    return Detection.model_validate(given | {"usage": USED} | fields)


def test_a_detection_is_counted_with_all_it_cost() -> None:
    metrics = Metrics(["calculator"])
    watch = metrics.watch("detect", {})
    watch.started()
    watch.event(Found(sentence=FOUND))
    watch.event(Verdict(entry=ENTRY))
    watch.event(Verdict(entry=ENTRY))
    watch.event(Answered(detection=detection()))
    whole = ENTRY.model_copy(update={"sentence": Sentence(index=0, text=FOUND.text, span=FOUND.span)})
    both = detection(sentences=(whole, ENTRY))
    watch.ended(Outcome(job="detect", ending="done", waited=0.5, worked=2.0, result=both))

    found = values(metrics)

    firsts = {
        name: found.pop(name) for name in ("haluagent_first_event_seconds_sum", "haluagent_first_verdict_seconds_sum")
    }
    assert all(seconds > 0 for seconds in firsts.values())
    assert found == {
        "haluagent_requests_total done detect": 1,
        "haluagent_verdicts_total detect contradicted": 1,
        "haluagent_sentences_total contradicted": 1,
        "haluagent_tokens_total evaluated": 40,
        "haluagent_tokens_total cached": 60,
        "haluagent_tokens_total generated": 7,
        "haluagent_wait_seconds_count detect": 1,
        "haluagent_wait_seconds_sum detect": 0.5,
        "haluagent_work_seconds_count detect": 1,
        "haluagent_work_seconds_sum detect": 2,
        "haluagent_first_event_seconds_count": 1,
        "haluagent_first_verdict_seconds_count": 1,
    }


def test_tool_calls_are_counted_by_what_came_of_them_and_an_invented_name_is_no_label() -> None:
    metrics = Metrics(["calculator", "match"])
    watch = metrics.watch("detect", {})
    decided = ToolResult(observation="2", label="supported")
    made = [
        ("calculator", {"result": decided}),
        ("match", {"result": ToolResult(observation="?")}),
        ("match", {"result": None, "error": "it broke"}),
        ("ignore_all_that_was_said", {"result": None, "error": "there is no such tool", "rejected": True}),
    ]
    for name, came in made:
        call = ToolCall(name=name)
        watch.event(Action(sentence=1, call=call))
        watch.event(Observation(sentence=1, step=Step(sentence=1, thought="", call=call, **came), text=""))
    repeated = Step(sentence=1, thought="", call=ToolCall(name="match"), result=None, error="it was asked already")
    unreadable = Step(sentence=1, thought="", call=None, result=None, error="no call", usage=USED)
    for step in (repeated, unreadable):  # without an action: nothing was run
        watch.event(Observation(sentence=1, step=step, text=""))
    watch.ended(Outcome(job="detect", ending="gone", waited=0, worked=0.1))

    calls = {name: value for name, value in values(metrics).items() if name.startswith("haluagent_tool_calls_total")}

    assert calls == {
        "haluagent_tool_calls_total decided calculator": 1,
        "haluagent_tool_calls_total undecided match": 1,
        "haluagent_tool_calls_total failed match": 1,
        "haluagent_tool_calls_total rejected unknown": 1,
        "haluagent_tool_calls_total rejected match": 1,
    }
    assert values(metrics)["haluagent_tokens_total evaluated"] == 40  # stopped work has its price, too
    assert b"ignore_all" not in metrics.text()


def test_what_failed_or_never_began_has_no_verdict_and_no_seconds() -> None:
    metrics = Metrics([])
    failed = metrics.watch("detect", {})
    failed.started()
    failed.ended(
        Outcome(job="detect", ending="model", waited=0, worked=1, result=detection(hallucination=None, stop="error"))
    )
    metrics.watch("check", {}).ended(Outcome(job="check", ending="busy", waited=0, worked=0))

    odd = Usage(
        prompt_tokens=5, cached_tokens=-60, generated_tokens=-1
    )  # a wrong number of an endpoint is no reason to stop counting
    metrics.watch("detect", {}).ended(
        Outcome(job="detect", ending="gone", waited=0, worked=0, result=detection(usage=odd))
    )

    found = values(metrics)

    assert found["haluagent_requests_total model detect"] == found["haluagent_requests_total busy check"] == 1
    assert not [name for name in found if "verdicts" in name or "sentences" in name]
    assert "haluagent_work_seconds_count check" not in found
    assert found["haluagent_tokens_total cached"] == 60  # the failed one's


def test_other_verdicts_have_the_words_of_their_job() -> None:
    metrics = Metrics([])
    for verdict in ("PASS", None):
        result = Faithfulness(question="", answer="A", language="en", mode="fast", verdict=verdict, score=0.5)
        metrics.watch("check", {}).ended(Outcome(job="check", ending="done", waited=0, worked=0, result=result))
    found = values(metrics)
    assert found["haluagent_verdicts_total check PASS"] == found["haluagent_verdicts_total check undecided"] == 1


def test_the_queue_is_asked_when_the_metrics_are() -> None:
    metrics = Metrics([])
    state = (0, 0)
    metrics.follow_queue(lambda: state)
    state = (3, 8)
    found = values(metrics)
    assert (found["haluagent_requests_running"], found["haluagent_requests_waiting"]) == (3, 8)


def test_a_counter_is_there_before_it_counts() -> None:
    text = Metrics([]).text().decode()
    assert 'haluagent_requests_total{ending="internal",job="runs"} 0.0' in text
    assert 'haluagent_tokens_total{kind="generated"} 0.0' in text
