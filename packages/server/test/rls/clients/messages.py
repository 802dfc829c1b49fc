"""The messages of the rate limit service and of health checks, made from descriptors, so that no compiler is needed."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf import duration_pb2, struct_pb2, wrappers_pb2  # noqa: F401: what the file below imports

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {"string": FIELD.TYPE_STRING, "uint32": FIELD.TYPE_UINT32, "bool": FIELD.TYPE_BOOL}
WELL_KNOWN = ".google.protobuf."
UNITS = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"]

# Fields in order of their numbers, from 1. `*` repeats a field; None is a number that is not used here.
MESSAGES = {
    "Entry": ["key string", "value string"],
    "Override": ["requests_per_unit uint32", "unit Override.Unit"],
    "RateLimitDescriptor": [
        "entries *Entry",
        "limit Override",
        f"hits_addend {WELL_KNOWN}UInt64Value",
        "is_negative_hits bool",
    ],
    "RateLimitRequest": ["domain string", "descriptors *RateLimitDescriptor", "hits_addend uint32"],
    "RateLimit": ["requests_per_unit uint32", "unit RateLimit.Unit", "name string"],
    "DescriptorStatus": [
        "code RateLimitResponse.Code",
        "current_limit RateLimit",
        "limit_remaining uint32",
        f"duration_until_reset {WELL_KNOWN}Duration",
    ],
    "HeaderValue": ["key string", "value string"],
    "RateLimitResponse": [
        "overall_code RateLimitResponse.Code",
        "statuses *DescriptorStatus",
        "response_headers_to_add *HeaderValue",
        None,
        None,
        f"dynamic_metadata {WELL_KNOWN}Struct",
    ],
    "HealthCheckRequest": ["service string"],
    "HealthCheckResponse": ["status HealthCheckResponse.Status"],
}
ENUMS = {
    "Override.Unit": UNITS,
    "RateLimit.Unit": [*UNITS, "WEEK"],
    "RateLimitResponse.Code": ["UNKNOWN", "OK", "OVER_LIMIT"],
    "HealthCheckResponse.Status": ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"],
}
PACKAGE = "sluice.test"


def _define():
    file = descriptor_pb2.FileDescriptorProto(name="sluice/test.proto", package=PACKAGE, syntax="proto3")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in ["duration", "struct", "wrappers"])
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, written in enumerate(fields, start=1):
            if written is not None:
                _add_field(message, number, *written.split(" "))
        for path, values in ENUMS.items():
            if path.startswith(f"{name}."):
                enum = message.enum_type.add(name=path.split(".")[1])
                for number, value in enumerate(values):
                    enum.value.add(name=value, number=number)
    descriptor_pool.Default().Add(file)


def _add_field(message, number, name, kind):
    label = FIELD.LABEL_REPEATED if kind.startswith("*") else FIELD.LABEL_OPTIONAL
    kind = kind.lstrip("*")
    field = message.field.add(name=name, number=number, label=label)
    if kind in SCALARS:
        field.type = SCALARS[kind]
        return
    field.type = FIELD.TYPE_ENUM if kind in ENUMS else FIELD.TYPE_MESSAGE
    field.type_name = kind if kind.startswith(".") else f".{PACKAGE}.{kind}"


def _message_class(name):
    descriptor = descriptor_pool.Default().FindMessageTypeByName(f"{PACKAGE}.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory().GetPrototype(descriptor)


_define()
RateLimitRequest = _message_class("RateLimitRequest")
RateLimitResponse = _message_class("RateLimitResponse")
HealthCheckRequest = _message_class("HealthCheckRequest")
HealthCheckResponse = _message_class("HealthCheckResponse")
