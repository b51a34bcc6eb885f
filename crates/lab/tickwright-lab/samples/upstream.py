#!/usr/bin/env python3
# Answers each name with one address, and drops one query in twenty.
import random
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 25399))
random.seed(1)
while True:
    query, client = server.recvfrom(4096)
    if random.random() < 0.05:
        continue
    end = 12 + query[12:].index(b"\0") + 5
    head = query[:2] + b"\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00"
    answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x01\x02\x03\x04"
    server.sendto(head + query[12:end] + answer, client)
