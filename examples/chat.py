"""A chatbot for the terminal, which talks to `haluagent proxy`: python examples/chat.py [URL [FILE WITH THE KEY]]"""

import json
import sys
from pathlib import Path

import httpx


def say(http: httpx.Client, model: str, messages: list[dict[str, str]]) -> str:
    """Print an answer while it comes, then its verdict. Return the answer."""
    text = ""
    with http.stream("POST", "chat/completions", json={"model": model, "messages": messages, "stream": True}) as answer:
        if answer.is_error:
            sys.exit(f"{answer.status_code}: {answer.read().decode()}")
        for line in answer.iter_lines():
            if not line.startswith("data: {"):
                continue
            event = json.loads(line.removeprefix("data: "))
            if "error" in event:
                sys.exit(event["error"]["message"])
            piece = "".join(choice["delta"].get("content") or "" for choice in event["choices"])
            print(piece, end="", flush=True)
            text += piece
            if found := event.get("haluagent"):
                print(f"\n[{found['verdict']}, {found['handling']}, report {found['report']}]")
    return text


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8643/v1"
    headers = {"Authorization": f"Bearer {Path(sys.argv[2]).read_text().strip()}"} if len(sys.argv) > 2 else {}
    with httpx.Client(base_url=url, headers=headers, timeout=600) as http:
        model = http.get("models").raise_for_status().json()["data"][0]["id"]
        messages: list[dict[str, str]] = []
        while True:
            try:
                messages.append({"role": "user", "content": input("> ")})
            except EOFError:
                return
            messages.append({"role": "assistant", "content": say(http, model, messages)})


if __name__ == "__main__":
    main()
