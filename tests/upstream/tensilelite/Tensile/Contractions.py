# SPDX-License-Identifier: MIT
class Facts:
    def __init__(self, **facts):
        self.__dict__.update(facts)


class SizeMapping(Facts):
    StateKeys = ["depthU", "workGroup", "later"]

    @classmethod
    def FromOriginalState(cls, d):
        return cls(depthU=d["DepthU"], workGroup=(16, 4, 1), later=d.get("Later", 0))


class InternalArgsSupport(Facts):
    StateKeys = ["version"]

    @classmethod
    def FromOriginalState(cls, d):
        return cls(version=d.get("KernArgsVersion", 2))
