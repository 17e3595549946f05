# SPDX-License-Identifier: Apache-2.0
"""Round trips over TCP and UDP: `profiles.py serve`, and `profiles.py HOST` prints four figures: least and largest round
trip of a byte in microseconds, MB/s of 4 MiB, and the number of 300 datagrams out of order."""
import socket
import sys
import threading
import time

PORT, ROUNDS, BYTES, DATAGRAMS = 5555, 200, 4 << 20, 300


def echo():
    back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    back.bind(("", PORT))
    while True:
        back.sendto(*back.recvfrom(16))


def serve():
    listener = socket.create_server(("", PORT))
    threading.Thread(target=echo, daemon=True).start()
    print("up", flush=True)
    while True:
        peer, _ = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(1 << 20):
            if data.endswith(b"e"):
                peer.sendall(b"x")


def timed(peer, data):
    start = time.perf_counter()
    peer.sendall(data)
    peer.recv(1)
    return time.perf_counter() - start


def out_of_order(host):
    peer, came = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
    peer.settimeout(0.5)
    for number in range(DATAGRAMS):
        peer.sendto(number.to_bytes(2, "big"), (host, PORT))
    try:
        while len(came) < DATAGRAMS:
            came.append(int.from_bytes(peer.recv(16), "big"))
    except TimeoutError:
        pass  # a lost datagram is not late
    return sum(number < before for before, number in zip(came, came[1:]))


def ask(host):
    peer = socket.create_connection((host, PORT))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    trips = [timed(peer, b"e") * 1e6 for _ in range(ROUNDS)]
    print(f"{min(trips):.0f} {max(trips):.0f} {BYTES / timed(peer, bytes(BYTES) + b'e') / 1e6:.0f} {out_of_order(host)}")


if sys.argv[1] == "serve":
    serve()
else:
    ask(sys.argv[1])
