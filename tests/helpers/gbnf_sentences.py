"""Sentences of a GBNF grammar, drawn by chance: for tests that all of them are what a grammar promises."""

import random
from typing import Any


class Sentences:
    """Reads the GBNF that this project writes: rules, literals, classes, groups, `|`, `?` and `{a,b}`."""

    def __init__(self, grammar: str) -> None:
        self._rules = {}
        for line in grammar.split("\n"):
            name, _, body = line.partition(" ::= ")
            assert name not in self._rules, f"the rule {name} is there twice"
            self._text, self._at = body, 0
            self._rules[name] = self._alternatives()
            assert self._at == len(body), f"{name}: cannot read {body[self._at :]!r}"

    def draw(self, chance: random.Random, rule: str = "root") -> str:
        return self._draw(self._rules[rule], chance)

    def _draw(self, part: Any, chance: random.Random) -> str:
        kind, value = part
        match kind:
            case "text":
                return str(value)
            case "class":
                return str(chance.choice(value))
            case "rule":
                return self.draw(chance, value)
            case "any":
                return self._draw(chance.choice(value), chance)
            case "all":
                return "".join(self._draw(one, chance) for one in value)
        inner, least, most = value
        count = chance.choice([least, most, min(most, least + 1), min(most, least + 3)])
        return "".join(self._draw(inner, chance) for _ in range(count))

    def _alternatives(self) -> tuple[str, Any]:
        found = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            found.append(self._sequence())
        return "any", found

    def _sequence(self) -> tuple[str, Any]:
        found = []
        while (next_one := self._peek()) and next_one not in "|)":
            part = self._one(next_one)
            if self._text[self._at : self._at + 1] == "?":
                self._at += 1
                part = "some", (part, 0, 1)
            elif self._text[self._at : self._at + 1] == "{":
                end = self._text.index("}", self._at)
                least, most = map(int, self._text[self._at + 1 : end].split(","))
                part, self._at = ("some", (part, least, most)), end + 1
            found.append(part)
        return "all", found

    def _one(self, first: str) -> tuple[str, Any]:
        if first == '"':
            return "text", self._quoted()
        if first == "[":
            return "class", self._class()
        if first == "(":
            self._at += 1
            inner = self._alternatives()
            assert self._peek() == ")"
            self._at += 1
            return inner
        start = self._at
        while self._text[self._at : self._at + 1].isalnum() or self._text[self._at : self._at + 1] == "-":
            self._at += 1
        assert self._at > start, f"cannot read {self._text[start:]!r}"
        return "rule", self._text[start : self._at]

    def _peek(self) -> str:
        while self._text[self._at : self._at + 1] == " ":
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _character(self) -> str:
        character = self._text[self._at]
        self._at += 1
        if character != "\\":
            return character
        escaped = self._text[self._at]
        self._at += 1
        if escaped in "xu":
            digits = 2 if escaped == "x" else 4
            self._at += digits
            return chr(int(self._text[self._at - digits : self._at], 16))
        return {"n": "\n", "r": "\r", "t": "\t"}.get(escaped, escaped)

    def _quoted(self) -> str:
        self._at += 1
        found = ""
        while self._text[self._at] != '"':
            found += self._character()
        self._at += 1
        return found

    def _class(self) -> list[str]:
        self._at += 1
        negated = self._text[self._at] == "^"
        self._at += negated
        found: set[str] = set()
        while self._text[self._at] != "]":
            low = high = self._character()
            if self._text[self._at] == "-":
                self._at += 1
                high = self._character()
            found |= {chr(code) for code in range(ord(low), ord(high) + 1)}
        self._at += 1
        if not negated:
            return sorted(found)
        return [character for character in map(chr, range(128)) if character not in found] + list("é天。\u2028𝄞")
