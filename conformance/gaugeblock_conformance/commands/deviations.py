"""``gaugeblock deviations [PEER ...]``: what peers do against the spec, as a list, as pages, or run again."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..expectations import pages, peers


class Deviations:
    """The subcommand."""

    help = "list what peers do against the spec, write its pages, or run its snippets again"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("peers", nargs="*", metavar="PEER", help="torch or torch-2.13 (default: all)")
        parser.add_argument("--out", type=Path, metavar="DIR", help="write Markdown pages into DIR/PEER-VERSION/")
        parser.add_argument("--again", action="store_true", help="run the snippets here; 1 if one shows another thing")

    def run(self, args: argparse.Namespace) -> int:
        chosen = [peer for name in args.peers for peer in peers.named(name)] or list(peers.load().values())
        if args.again:
            return _again(chosen)
        if args.out:
            written = pages.write(args.out, chosen)
            print(f"written: {len(written)} pages in {args.out}")
            return 0
        for peer in chosen:
            print(peer.folder)
            for row in peer.shown:
                print(f"  {row.kind:<11}{row.requirement}: {row.reason}")
        return 0


def _again(chosen: list[peers.Peer]) -> int:
    status = 0
    for peer in chosen:
        found = peers.stale(peer)
        print(f"{peer.folder}: {len(peer.shown)} snippets, {len(found)} show something else")
        for stale in found:
            print(str(stale).replace("\n", "\n    "))
            status = 1
    return status


command = Deviations()
