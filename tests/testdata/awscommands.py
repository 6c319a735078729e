"""Prints what is wrong with commands of the AWS CLI, by the API models of botocore."""

import json
import sys

import botocore.session
from botocore import xform_name
from botocore.exceptions import UnknownServiceError

# Options of every command, and the commands that the CLI itself adds, with their options.
GLOBAL = {"region", "query", "output", "profile"}
OF_CLI = {
    ("eks", "update-kubeconfig"): {"name", "kubeconfig"},
    ("eks", "get-token"): {"cluster-name", "role-arn"},
}

session = botocore.session.get_session()
for command in json.load(sys.stdin):
    where, service, operation = command["where"], command["service"], command["operation"]
    name = f"aws {service} {operation}"
    options = OF_CLI.get((service, operation))
    if options is None:
        try:
            model = session.get_service_model(service)
        except UnknownServiceError:
            print(f"{where}: AWS has no service {service}")
            continue
        operations = {xform_name(one, "-"): one for one in model.operation_names}
        if operation not in operations:
            print(f"{where}: aws {service} has no {operation}")
            continue
        shape = model.operation_model(operations[operation]).input_shape
        options = {xform_name(one, "-") for one in shape.members} if shape else set()
    for option in command["options"] or []:
        if option.removeprefix("--") not in options | GLOBAL:
            print(f"{where}: {name} has no {option}")
