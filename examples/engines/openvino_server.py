"""OpenVINO GenAI behind an OpenAI-compatible face: python openvino_server.py WEIGHTS.gguf PORT

Needs `pip install openvino-genai`. Its grammars (xgrammar's EBNF) are GBNF. Of the log-probabilities it gives that of
the written token only, so a scored choice has one entry.
"""

import itertools
import sys
import threading
from pathlib import Path
from typing import Any

import openvino_genai as ov
from http_face import serve

CACHE_GB = 2


class Engine:
    """Continuous batching with a prefix cache; one thread steps it while there is something to do."""

    def __init__(self, weights: Path) -> None:
        scheduler = ov.SchedulerConfig()
        scheduler.cache_size = CACHE_GB
        scheduler.enable_prefix_caching = True
        scheduler.max_num_seqs = 8
        self._pipeline = ov.ContinuousBatchingPipeline(weights, scheduler, "CPU")
        self._tokenizer = self._pipeline.get_tokenizer()
        self._ids = itertools.count()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = self._tokenizer.apply_chat_template(body["messages"], add_generation_prompt=True)
        tokens = self._tokenizer.encode(prompt, add_special_tokens=False).input_ids
        with self._changed:
            handle = self._pipeline.add_request(next(self._ids), tokens, self._config(body))
            self._changed.notify_all()
            self._changed.wait_for(lambda: handle.get_status() != ov.GenerationStatus.RUNNING)
        outputs = handle.read_all()
        return {
            "choices": [self._choice(index, output, body) for index, output in enumerate(outputs)],
            "usage": {
                "prompt_tokens": tokens.shape[1],
                "completion_tokens": sum(len(output.generated_ids) for output in outputs),
            },
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._pipeline.has_non_finished_requests)
            self._pipeline.step()
            with self._changed:
                self._changed.notify_all()

    def _config(self, body: dict[str, Any]) -> Any:
        config = self._pipeline.get_config()
        config.max_new_tokens = body.get("max_tokens") or 256
        config.stop_strings = set(body.get("stop") or ())
        config.logprobs = 1 if body.get("logprobs") else 0
        config.do_sample = (body.get("temperature") or 0) > 0
        if config.do_sample:
            config.temperature = body["temperature"]
            config.num_return_sequences = body.get("n", 1)
        if body.get("grammar"):
            config.structured_output_config = ov.StructuredOutputConfig(grammar=body["grammar"])
        return config

    def _choice(self, index: int, output: Any, body: dict[str, Any]) -> dict[str, Any]:
        text = self._tokenizer.decode(output.generated_ids)
        for stop in body.get("stop") or ():
            text = text.split(stop)[0]
        choice = {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        if body.get("logprobs") and output.generated_log_probs:
            token = self._tokenizer.decode(output.generated_ids[:1])
            first = {"token": token, "logprob": output.generated_log_probs[0]}
            choice["logprobs"] = {"content": [first | {"top_logprobs": [first]}]}
        return choice


if __name__ == "__main__":
    serve(Engine(Path(sys.argv[1])).complete, int(sys.argv[2]))
