"""Calls the service by gRPC of Python. Usage: client.py GRPC_PORT COMMAND, with requests as lines of JSON on standard input.

  ask     each line is {"request": ..., "timeout"?, "token"?, "compress"?, "padding"?}, with the request as protobuf's JSON
  json    as ask, and sends the same request to /json on the port that "http" names
  check   each line is the name of a service
  watch   the one line is the name of a service

Prints a line of JSON for each: the status of the call, and its response as protobuf's JSON.
"""

import json
import sys
import urllib.error
import urllib.request

import grpc
from google.protobuf import json_format

from messages import HealthCheckRequest, HealthCheckResponse, RateLimitRequest, RateLimitResponse

HEALTH = "/grpc.health.v1.Health/"


def say(**fields):
    print(json.dumps(fields), flush=True)


def outcome(call):
    try:
        response = call()
    except grpc.RpcError as error:
        return {"code": error.code().name, "details": error.details()}
    return {"code": "OK", "response": json_format.MessageToDict(response)}


def padded(message, size):
    """The bytes of a message, with an unknown field that makes them longer."""
    length = []
    rest = size
    while rest >= 128:
        length.append(rest % 128 + 128)
        rest //= 128
    return message.SerializeToString() + b"\xfa\x3f" + bytes([*length, rest]) + bytes(size)


def ask(channel, given):
    request = json_format.ParseDict(given["request"], RateLimitRequest())
    method = channel.unary_unary(
        "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
        request_serializer=lambda message: padded(message, given["padding"])
        if "padding" in given
        else message.SerializeToString(),
        response_deserializer=RateLimitResponse.FromString,
    )
    metadata = [("authorization", f"Bearer {given['token']}")] if "token" in given else None
    compression = grpc.Compression.Gzip if given.get("compress") else None
    return outcome(
        lambda: method(request, timeout=given.get("timeout", 60), metadata=metadata, compression=compression)
    )


def ask_json(given):
    """Asks /json. What it answers must be a RateLimitResponse, without unknown fields."""
    request = json_format.ParseDict(given["request"], RateLimitRequest())
    body = json_format.MessageToJson(request, preserving_proto_field_name=given.get("original", False))
    sent = urllib.request.Request(f"http://127.0.0.1:{given['http']}/json", data=body.encode(), method="POST")
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as answer:
        status, text = answer.code, answer.read()
    return {"status": status, "response": json_format.MessageToDict(json_format.Parse(text, RateLimitResponse()))}


def main():
    port, command = sys.argv[1:]
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        check = channel.unary_unary(
            HEALTH + "Check",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        watch = channel.unary_stream(
            HEALTH + "Watch",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        for line in sys.stdin:
            given = json.loads(line)
            if command == "ask":
                say(**ask(channel, given))
            elif command == "json":
                say(grpc=ask(channel, given), json=ask_json(given))
            elif command == "check":
                say(**outcome(lambda: check(HealthCheckRequest(service=given), timeout=60)))
            else:
                try:
                    for response in watch(HealthCheckRequest(service=given), timeout=60):
                        say(response=json_format.MessageToDict(response))
                except grpc.RpcError as error:
                    say(code=error.code().name)


main()
