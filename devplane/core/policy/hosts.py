"""The host that a URL names, read so that two spellings of one host are one."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote, urlsplit

_ODD = re.compile(r"[\x00-\x20\x7f\\]")


def host_of(url: str) -> str | None:
    """Return the host of `url` in small letters, without user, port and final dot; ``None`` if unclear.

    Browsers and libraries disagree on backslashes and control characters, so a URL with one
    has no host that anybody could name.
    """
    text = url.strip(" ")
    if _ODD.search(text):
        return None
    if "://" not in text:
        text = "https://" + text
    try:
        host = urlsplit(text).hostname
    except ValueError:
        return None
    if not host:
        return None
    plain = unicodedata.normalize("NFKC", unquote(host)).casefold().rstrip(".")
    if (
        not plain
        or _ODD.search(plain)
        or re.search(r"[/?#@:%]", plain.replace(":", "") if _is_ipv6(plain) else plain)
    ):
        return None
    return plain


def _is_ipv6(host: str) -> bool:
    return re.fullmatch(r"[0-9a-f:.]+", host) is not None and host.count(":") > 1
