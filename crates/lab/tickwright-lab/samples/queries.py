#!/usr/bin/env python3
# Keeps up to 100 queries for new names under way.
import random
import socket
import struct
import sys
import time

client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect(("127.0.0.1", 25353))
client.setblocking(False)
end = time.time() + float(sys.argv[1])
sent = under_way = 0
while time.time() < end:
    while under_way < 100:
        sent += 1
        name = b"%x%x" % (random.getrandbits(30), sent)
        head = struct.pack(">HHHHHH", sent & 0xFFFF, 0x100, 1, 0, 0, 0)
        client.send(head + bytes([len(name)]) + name + b"\x03com\0\0\x01\0\x01")
        under_way += 1
    try:
        while client.recv(4096):
            under_way -= 1
    except BlockingIOError:
        time.sleep(0.0005)
    if random.random() < 0.01:  # Some are never answered.
        under_way = max(0, under_way - 5)
