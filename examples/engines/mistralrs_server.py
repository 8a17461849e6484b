"""mistral.rs behind an OpenAI-compatible face: python mistralrs_server.py WEIGHTS.gguf PORT

Needs `pip install mistralrs llguidance`. Grammars are translated from GBNF to the Lark dialect of llguidance. Requests
are taken one at a time and samples one after another: on a CPU, mistralrs 0.9.5 fails with several sequences at once.
"""

import sys
import threading
from pathlib import Path
from typing import Any

from http_face import serve
from llguidance.gbnf_to_lark import any_to_lark
from mistralrs import ChatCompletionRequest, Runner, Which


def completer(weights: Path) -> Any:
    """A function from a request's body to the body of its answer."""
    which = Which.GGUF(quantized_model_id=str(weights.parent), quantized_filename=weights.name)
    runner = Runner(which=which, max_seqs=1, prefix_cache_n=16)
    one_at_a_time = threading.Lock()

    def complete(body: dict[str, Any]) -> dict[str, Any]:
        grammar = body.get("grammar")
        request = ChatCompletionRequest(
            messages=body["messages"],
            model="default",
            max_tokens=body.get("max_tokens"),
            temperature=body.get("temperature"),
            stop_seqs=body.get("stop"),
            logprobs=body.get("logprobs", False),
            top_logprobs=body.get("top_logprobs"),
            grammar=any_to_lark(grammar) if grammar else None,
            grammar_type="lark" if grammar else None,
        )
        with one_at_a_time:
            answers = [runner.send_chat_completion_request(request) for _ in range(body.get("n", 1))]
        return {
            "choices": [_choice(runner, index, answer.choices[0]) for index, answer in enumerate(answers)],
            "usage": {
                "prompt_tokens": answers[0].usage.prompt_tokens,
                "completion_tokens": sum(answer.usage.completion_tokens for answer in answers),
            },
        }

    return complete


def _choice(runner: Any, index: int, choice: Any) -> dict[str, Any]:
    content = choice.logprobs.content if choice.logprobs else None
    tokens = [
        {
            "token": entry.token,
            "logprob": entry.logprob,
            "top_logprobs": [
                {"token": runner.detokenize_text([top.token], False), "logprob": top.logprob}
                for top in entry.top_logprobs
            ],
        }
        for entry in content or []
    ]
    return {
        "index": index,
        "finish_reason": choice.finish_reason,
        "message": {"role": "assistant", "content": choice.message.content or ""},
        "logprobs": {"content": tokens} if tokens else None,
    }


if __name__ == "__main__":
    serve(completer(Path(sys.argv[1])), int(sys.argv[2]))
