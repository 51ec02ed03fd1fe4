"""A web server that does everything wrong, in a process of its own: python -m tests.files.hostile_server

It prints its port. /count/PATH says how often PATH was asked for, /sent/PATH how many bytes of something huge
went out the last time; /set/NAME/VALUE changes what /dial/NAME
gives.
"""

import gzip
import io
import json
import socket
import socketserver
import struct
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

import numpy as np
from PIL import Image

HUGE = 2 * 2**30


def picture(seed, size=40, form="JPEG"):
    pixels = np.random.default_rng(seed).integers(0, 256, (size, size, 3)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form)
    return stream.getvalue()


def plain(color):
    stream = io.BytesIO()
    Image.new("RGB", (50, 50), color).save(stream, "PNG")
    return stream.getvalue()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    counts, sent, agents, dials = Counter(), Counter(), set(), {}
    lock, busy, busiest = threading.Lock(), 0, 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        name, _, argument = self.path.lstrip("/").partition("/")
        with self.lock:
            Handler.counts[self.path] += 1
            Handler.busy += 1
            Handler.busiest = max(self.busiest, self.busy)
            if name not in ("count", "sent", "set", "busiest", "agents"):
                Handler.agents.add(self.headers.get("User-Agent"))
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # a client may hang up
                getattr(self, f"say_{name}")(argument)
        finally:
            self.close_connection = True
            with self.lock:
                Handler.busy -= 1

    def do_PUT(self):
        """Keep what /file/NAME is to give."""
        Handler.dials[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send(b"kept", kind="text/plain")
        self.close_connection = True

    def say_file(self, _):
        self.send(self.dials[self.path], kind="text/plain")

    def send(self, body, kind="image/jpeg", status=200, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def open_ended(self, **headers):
        self.send_response(200)
        self.send_header("Content-Type", "image/jpeg")
        self.send_header("Connection", "close")
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def say_ok(self, argument):
        self.send(picture(int(argument)))

    def say_form(self, argument):
        self.send(picture(1, form=argument), kind="application/octet-stream")

    def say_lasting(self, argument):
        time.sleep(0.15)
        self.say_ok(argument)

    def say_status(self, argument):
        self.send(b"no", kind="text/plain", status=int(argument))

    def say_flaky(self, argument):
        if self.counts[self.path] <= int(argument):
            self.send(b"busy", kind="text/plain", status=500)
        else:
            self.send(picture(3))

    def say_later(self, argument):
        if self.counts[self.path] == 1:
            self.send(b"wait", kind="text/plain", status=429, Retry_After=argument)
        else:
            self.send(picture(4))

    def say_drip(self, _):
        self.open_ended()
        for byte in picture(5):
            self.wfile.write(bytes([byte]))
            time.sleep(0.2)

    def say_driphead(self, _):
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 1000:
            self.wfile.write(bytes([byte]))
            time.sleep(0.2)

    def say_silent(self, _):
        time.sleep(30)

    def say_cut(self, _):
        body = picture(6)
        self.send(body[: len(body) // 2], length=len(body))

    def say_cutopen(self, _):
        self.open_ended()
        self.wfile.write(picture(7)[:-300])

    def say_garbage(self, _):
        self.wfile.write(b"\x00\x01\x02 this is not HTTP\r\n\r\n")

    def say_reset(self, _):
        linger = struct.pack("ii", 1, 0)  # a reset instead of an end
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def say_html(self, _):
        self.send(b"<!DOCTYPE html><html><body>Gone</body></html>", kind="image/jpeg")

    def say_empty(self, _):
        self.send(b"")

    def say_to(self, argument):
        self.send(b"", status=302, Location=argument)

    def say_loop(self, argument):
        self.send(b"", status=302, Location=f"/loop/{(int(argument) + 1) % 3}")

    def say_farther(self, argument):
        self.send(b"", status=302, Location=f"/farther/{int(argument) + 1}")

    def say_hugesaid(self, _):
        self.send(b"", length=HUGE)

    def say_huge(self, _):
        self.open_ended()
        for number in range(HUGE // 2**20):
            Handler.sent[self.path] = number * 2**20
            self.wfile.write(b"\xff" * 2**20)

    def say_hugechunks(self, _):
        self.open_ended(Transfer_Encoding="chunked")
        for number in range(HUGE // 2**20):
            Handler.sent[self.path] = number * 2**20
            self.wfile.write(b"100000\r\n" + b"\xff" * 2**20 + b"\r\n")

    def say_bomb(self, _):
        self.send(gzip.compress(bytes(100 * 2**20), 9), Content_Encoding="gzip")

    def say_bombs(self, _):
        inner = gzip.compress(gzip.compress(bytes(100 * 2**20), 9), 9)
        self.send(inner, Content_Encoding="gzip, gzip")

    def say_packed(self, _):
        self.send(gzip.compress(picture(8)), Content_Encoding="gzip")

    def say_brotli(self, _):
        self.send(b"\x0b\x02\x80", Content_Encoding="br")

    def say_pixels(self, _):
        """A PNG of 20,000 x 20,000 pixels in a few kilobytes, as far as its header goes."""
        header = b"IHDR" + struct.pack(">II", 20000, 20000) + b"\x08\x02\x00\x00\x00"
        rest = b"IDAT" + zlib.compress(bytes(100))
        chunks = [
            struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, rest)
        ]
        self.send(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))

    def say_sorry(self, _):
        self.send(picture(99))

    def say_unavailable(self, argument):
        self.send(picture(100 + int(argument)))

    def say_plain(self, _):
        self.send(plain("gray"), kind="image/png")

    def say_tiny(self, _):
        self.send(picture(9, size=2, form="PNG"), kind="image/png")

    def say_dial(self, argument):
        value = self.dials.get(argument, "1")
        if value.startswith("status"):
            self.say_status(value.removeprefix("status"))
        else:
            self.say_ok(value)

    def say_set(self, argument):
        name, _, value = argument.partition("/")
        Handler.dials[name] = value
        self.send(b"set", kind="text/plain")

    def say_text(self, argument):
        self.send(argument.encode(), kind="text/plain")

    def say_count(self, argument):
        self.send(str(self.counts[f"/{argument}"]).encode(), kind="text/plain")

    def say_sent(self, argument):
        self.send(str(self.sent[f"/{argument}"]).encode(), kind="text/plain")

    def say_busiest(self, _):
        self.send(str(self.busiest).encode(), kind="text/plain")

    def say_agents(self, _):
        self.send(json.dumps(sorted(map(str, self.agents))).encode(), kind="application/json")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 128


def main():
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
