"""The page around pictures: style for light and dark, a panel that tells what is under the cursor, no network."""

from __future__ import annotations

import base64
import hashlib
from html import escape

STYLE = """
:root{color-scheme:light dark;--back:#fff;--ink:#1b1f24;--soft:#5a6472;--grid:#dfe3e8;--panel:#f3f5f7;--line:#b3261e;
--used:#3566a8;--onused:#fff;--pending:#c77d0a;--free:#e3e7ec;--onfree:#333b45;--mixed:#8b7fb5;--edge:#6b7480;
--b0:#3566a8;--b1:#2a9d8f;--b2:#e9a23b;--b3:#c8553d;--b4:#7a5ba6;--b5:#5f9e4a;--b6:#c06c9c;--b7:#4aa3c7;--b8:#98a1ab}
@media (prefers-color-scheme:dark){:root{--back:#14181d;--ink:#e6e9ed;--soft:#9aa5b1;--grid:#2b323a;--panel:#1d232a;
--line:#ff8a80;--used:#5b8fd6;--onused:#0b1016;--pending:#e0a03a;--free:#2b323a;--onfree:#c5ccd4;--mixed:#a196cf;
--edge:#7d8894;--b0:#5b8fd6;--b1:#45bfae;--b2:#f0b75c;--b3:#e0775f;--b4:#a184cf;--b5:#82c26b;--b6:#dc93ba;--b7:#6fc3e4;
--b8:#77818c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:16px 20px 120px;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:22px;margin:8px 0}h2{font-size:18px;margin:28px 0 8px}h3{font-size:14px;margin:16px 0 4px;font-weight:600}
.note,small{color:var(--soft)}.scroll{overflow-x:auto}
svg{width:100%;height:auto;display:block}svg text{font-size:11px;fill:var(--soft)}
svg:focus-visible,summary:focus-visible{outline:2px solid var(--line);outline-offset:2px}
.grid{stroke:var(--grid)}.cursor{stroke:var(--ink);stroke-dasharray:3 3;pointer-events:none}
.reserved{fill:none;stroke:var(--line);stroke-width:1.6;pointer-events:none}.waiting{fill:url(#hatch)}
.failed{stroke:var(--line);fill:var(--line);stroke-width:1.5;stroke-dasharray:2 2}
.hatch{stroke:var(--pending);stroke-width:2.5}
.bar{fill:none;stroke:var(--edge);stroke-width:1;pointer-events:none}
.used{fill:var(--used)}.pending{fill:var(--pending)}.free{fill:var(--free)}.mixed{fill:var(--mixed)}
.map rect{stroke:var(--back);stroke-width:.3}.map .bar{stroke:var(--edge);stroke-width:1}
.map rect.here{stroke:var(--ink);stroke-width:2}
svg text.on{text-anchor:middle;font-size:10px;pointer-events:none;fill:var(--onused)}
svg text.on.free{fill:var(--onfree)}
.legend{list-style:none;margin:8px 0;padding:0;display:grid;gap:6px 18px;
grid-template-columns:repeat(auto-fill,minmax(300px,1fr))}
.legend li{display:flex;gap:8px;overflow-wrap:anywhere}.legend.flat{display:flex;flex-wrap:wrap}
.key{flex:none;width:14px;height:14px;margin-top:4px;border-radius:3px}.key.line{height:3px;margin-top:10px}
.key.hatched{background:repeating-linear-gradient(45deg,var(--pending) 0 3px,transparent 3px 6px)}
.key.dashed{height:0;margin-top:11px;border-top:2px dotted var(--line)}
.key.free{border:1px solid var(--edge)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:6px 0}
th,td{padding:3px 12px 3px 0;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}
td.n,th.n{text-align:right}td{overflow-wrap:anywhere}td:first-child{white-space:nowrap}
ol{margin:2px 0;padding-left:22px}
details ol{font-size:12px;color:var(--soft)}
#panel{position:fixed;left:0;right:0;bottom:0;background:var(--panel);border-top:1px solid var(--grid);padding:8px 20px;
min-height:44px;max-height:30vh;overflow:auto;white-space:pre-line;font-size:13px}
"""
_BANDS = "".join(f".b{place}{{fill:var(--b{place})}}.key.b{place}{{background:var(--b{place})}}" for place in range(9))
_KEYS = "".join(f".key.{name}{{background:var(--{name})}}" for name in ("used", "pending", "free", "mixed", "line"))

SCRIPT = """
const panel=document.getElementById('panel'),units=['B','KiB','MiB','GiB','TiB','PiB'];
const text=size=>{let unit=0;while(size>=1024&&unit<5){size/=1024;unit++}
return size.toFixed(unit&&size<100?(size<10?2:1):0)+' '+units[unit]};
const say=words=>{panel.textContent=words};
const title=node=>{const found=node&&node.querySelector&&node.querySelector('title');return found?found.textContent:''};
const time=document.getElementById('time');
if(time&&time.dataset.columns){
const left=+time.dataset.left,right=+time.dataset.right,cursor=document.getElementById('cursor');
const columns=time.dataset.columns.split(';').map(one=>one.split(','));let here=0;
const show=(place,words)=>{here=Math.max(0,Math.min(columns.length-1,place));
const [first,last,used,waiting,reserved]=columns[here],x=left+(here+.5)*(right-left)/columns.length;
cursor.setAttribute('x1',x);cursor.setAttribute('x2',x);cursor.setAttribute('visibility','visible');
say((first===last?'event '+first:'events '+first+' to '+last)+': at most '+text(+used)+' in use'+
(+waiting?', '+text(+waiting)+' waiting':'')+(reserved?', '+text(+reserved)+' reserved':'')+(words?'\\n'+words:''))};
time.addEventListener('mousemove',event=>{const box=time.getBoundingClientRect();
const x=(event.clientX-box.left)*1000/box.width;
show(Math.floor((x-left)/(right-left)*columns.length),title(event.target.closest('path')))});
time.addEventListener('focus',()=>show(here));
time.addEventListener('keydown',event=>{const far=event.shiftKey?20:1;
const to={ArrowLeft:here-far,ArrowRight:here+far,Home:0,End:columns.length-1}[event.key];
if(to!==undefined){event.preventDefault();show(to)}})}
for(const map of document.querySelectorAll('svg.map')){
const blocks=[...map.querySelectorAll('rect:not(.bar)')];let here=-1;
const show=place=>{if(here>=0)blocks[here].classList.remove('here');
here=Math.max(0,Math.min(blocks.length-1,place));blocks[here].classList.add('here');say(title(blocks[here]))};
map.addEventListener('mouseover',event=>{const place=blocks.indexOf(event.target);if(place>=0)show(place)});
map.addEventListener('focus',()=>show(Math.max(here,0)));
map.addEventListener('keydown',event=>{const far=event.shiftKey?20:1;
const to={ArrowLeft:here-far,ArrowRight:here+far,ArrowUp:here-far,ArrowDown:here+far,Home:0,
End:blocks.length-1}[event.key];
if(to!==undefined){event.preventDefault();show(to)}})}
"""


def page(title: str, body: str) -> str:
    """A whole page; `body` is markup, `title` is text. Its policy allows this script alone, and no request."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'\">"
        f"<title>{escape(title)}</title><style>{STYLE}{_BANDS}{_KEYS}</style></head><body><main>{body}</main>"
        '<div id="panel" role="status" aria-live="polite">Point at a picture, or move into it with Tab and the arrow '
        f"keys.</div><script>{SCRIPT}</script></body></html>\n"
    )


def table(head: list[str], rows: list[list[str]], numbers: int) -> str:
    """A table of texts; the first `numbers` columns are numbers."""

    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if place < numbers else ''}>{escape(text)}</{tag}>" for place, text in enumerate(row)
        )

    lines = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells("th", head)}</tr></thead><tbody>{lines}</tbody></table></div>'
