"""Version 1 of the driver protocol in constants, and replies read strictly. PROTOCOL.md is the specification."""

import base64
import binascii
import json
from typing import Any

from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import PortError

__all__ = ["MAX_LINE", "VERSION", "DriverFault", "Reply", "decode", "encode"]

VERSION = 1
MAX_LINE = 64 << 20  # bytes, its newline included; both ways
_U64 = (1 << 64) - 1
_TEXT_MAX = 2000


class DriverFault(TargetError):
    """The driver died, hung or broke the protocol: nobody knows what the call did."""

    outcome = Outcome.INFO

    def __init__(self, error: ErrorClass, text: str) -> None:
        super().__init__(text)
        self.error = error


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> "Reply":
    """DriverFault says what is wrong with the line."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise DriverFault(ErrorClass.INVALID, f"it printed what is no JSON: {_shown(line)}") from None
    if not isinstance(found, dict):
        raise DriverFault(ErrorClass.INVALID, f"it printed what is no JSON object: {_shown(line)}")
    return Reply(found)


class Reply:
    """The fields of one reply; each is checked when it is asked for."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def wrong(self, name: str, wanted: str) -> DriverFault:
        found = _shown(json.dumps(self.fields.get(name, "(missing)")).encode())
        return DriverFault(ErrorClass.INVALID, f"its reply has {name} {found}, where {wanted} is due")

    @property
    def outcome(self) -> Outcome:
        try:
            return Outcome(str(self.fields.get("outcome")))
        except ValueError:
            raise self.wrong("outcome", "ok, fail or info") from None

    @property
    def error(self) -> PortError | None:
        """Present exactly where the outcome is not ok."""
        found = self.fields.get("error")
        if self.outcome is Outcome.OK:
            if found is not None:
                raise self.wrong("error", "none beside an outcome of ok")
            return None
        if not isinstance(found, dict) or found.get("class") not in ErrorClass.__members__ or found["class"] == "NONE":
            raise self.wrong("error", "an object with the class of an error")
        number, text = found.get("errno", 0), found.get("text", "")
        if type(number) is not int or not 0 <= number <= 0xFFFF or not isinstance(text, str):
            raise self.wrong("error", "an errno from 0 to 65535 and a text")
        return PortError(ErrorClass[found["class"]], number, text[:_TEXT_MAX])

    def text(self, name: str) -> str:
        found = self.fields.get(name)
        if not isinstance(found, str):
            raise self.wrong(name, "a text")
        return found

    def number(self, name: str) -> int:
        return _number(self, name, self.fields.get(name))

    def truth(self, name: str) -> bool:
        found = self.fields.get(name, False)
        if not isinstance(found, bool):
            raise self.wrong(name, "true or false")
        return found

    def numbers(self, name: str, most: int) -> tuple[int, ...]:
        return tuple(_number(self, name, each) for each in self._list(name, most))

    def objects(self, name: str, most: int) -> list["Reply"]:
        found = self._list(name, most)
        if not all(isinstance(each, dict) for each in found):
            raise self.wrong(name, "a list of objects")
        return [Reply(each) for each in found]

    def commands(self, name: str) -> dict[str, tuple[str, ...]]:
        found = self.fields.get(name, {})
        lists = list(found.values()) if isinstance(found, dict) else [None]
        if not all(isinstance(words, list) and words and all(isinstance(word, str) for word in words) for words in lists):
            raise self.wrong(name, "command lines by name, each a list of texts")
        return {tool: tuple(words) for tool, words in found.items()}

    def data(self, name: str) -> bytes:
        try:
            return base64.b64decode(self.text(name), validate=True)
        except binascii.Error:
            raise self.wrong(name, "base64") from None

    def _list(self, name: str, most: int) -> list[Any]:
        found = self.fields.get(name, [])
        if not isinstance(found, list) or len(found) > most:
            raise self.wrong(name, f"a list of at most {most}")
        return found


def _number(reply: Reply, name: str, found: object) -> int:
    if type(found) is not int or not 0 <= found <= _U64:
        raise reply.wrong(name, "a whole number from 0 to 2**64 - 1")
    return found


def _shown(line: bytes) -> str:
    return repr(line[:80].decode("utf-8", "replace")) + ("…" if len(line) > 80 else "")
