"""Pages, taken apart: what they are made of, what they load, what they may run."""

import base64
import hashlib
import re
from html.parser import HTMLParser

LOADS = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"}


class Page(HTMLParser):
    """Tags, attributes, and text of a page, scripts and data apart; checks that tags are closed in order."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self, text):
        super().__init__()
        self.html = text
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(text)
        assert not self.open
        self.scripts = re.findall(r"<script(.*?)>(.*?)</script>", text, re.DOTALL)
        self.without_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open:
            self.text.append(data)

    def data_blocks(self):
        """Contents of the data in the page."""
        return [text for head, text in self.scripts if 'type="application/json"' in head]

    def require_closed(self):
        """Check that nothing is loaded, and that nothing runs but the one script whose digest the policy names."""
        assert not {"img", "iframe", "object", "embed", "link", "form"} & set(self.tags)
        assert not [name for name, _ in self.attributes if name.startswith("on")]
        ids = [value for name, value in self.attributes if name == "id"]
        assert len(ids) == len(set(ids))
        leads = [(name, value) for name, value in self.attributes if name in LOADS]
        assert all(name == "href" and value[:1] == "#" and value[1:] in ids for name, value in leads)
        (script,) = (text for head, text in self.scripts if not head)
        assert self.html.count("<script") == len(self.data_blocks()) + 1
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        assert ("content", policy) in self.attributes
