"""What each rank chooses, and how a communicator ends."""

from __future__ import annotations

import unittest
from dataclasses import replace

from nccl_stand_in.decision import End, Plugin, choose, decide, match_interface, reaches
from nccl_stand_in.defects import Defect, lacks_plugin
from nccl_stand_in.facts import SecurityGroup
from tests.support import CLUSTER_GROUP, OWN_GROUP, PINNED, fabric, rank, two_nodes, unpinned


class ChooseTest(unittest.TestCase):
    def test_choice(self) -> None:
        broken = fabric(device_broken=True)
        cases = [
            # name, rank, plugin, network, provider
            ("all in place, pinned", rank(), Plugin.READY, "Libfabric", "efa"),
            ("all in place, not pinned", rank(environment=unpinned()), Plugin.READY, "Libfabric", "efa"),
            ("the plugin's older name", rank(environment={**PINNED, "NCCL_NET": "AWS Libfabric"}), Plugin.READY, "AWS Libfabric", "efa"),
            ("names compare without case", rank(environment={**PINNED, "NCCL_NET": "ofi"}), Plugin.READY, "OFI", "efa"),
            ("provider filter of AWS's build", rank(environment={"NCCL_NET_PLUGIN": "ofi"}), Plugin.READY, "Libfabric", "efa"),
            ("no NCCL_NET_PLUGIN: the default name is there too", rank(environment={}), Plugin.READY, "Libfabric", "efa"),
            ("no plugin, not pinned", rank(environment=unpinned(), has_plugin=False), Plugin.NOT_FOUND, "Socket", None),
            ("no plugin, pinned", rank(has_plugin=False), Plugin.NOT_FOUND, None, None),
            ("no device, not pinned", rank(environment=unpinned(), devices=0), Plugin.NO_DEVICE, "Socket", None),
            ("no device, pinned", rank(devices=0), Plugin.NO_DEVICE, None, None),
            ("a file without an interface", rank(fabric=fabric(efa_interfaces=0)), Plugin.NO_DEVICE, None, None),
            ("broken device, not pinned", rank(environment=unpinned(), fabric=broken), Plugin.BROKEN_DEVICE, "Socket", None),
            ("broken device, pinned", rank(fabric=broken), Plugin.BROKEN_DEVICE, None, None),
            ("wrong plugin name", rank(environment={**unpinned(), "NCCL_NET_PLUGIN": "efa"}), Plugin.NOT_FOUND, "Socket", None),
            ("no plugin wanted", rank(environment={"NCCL_NET_PLUGIN": "none"}), Plugin.NOT_ASKED, "Socket", None),
            ("pinned to sockets", rank(environment={**PINNED, "NCCL_NET": "Socket"}), Plugin.OTHER_NAME, "Socket", None),
            ("pinned to nothing that exists", rank(environment={**PINNED, "NCCL_NET": "efa"}), Plugin.OTHER_NAME, None, None),
            ("libfabric over tcp", rank(environment={**PINNED, "FI_PROVIDER": "tcp"}, devices=0), Plugin.READY, "Libfabric", "tcp"),
        ]
        for name, facts, plugin, network, provider in cases:
            with self.subTest(name):
                choice = choose(facts)
                self.assertEqual((plugin, network, provider), (choice.plugin, choice.network, choice.provider))

    def test_interface(self) -> None:
        cases = [
            ("", ("lo", "eth0"), "eth0"),
            ("", ("lo",), "lo"),
            ("eth0", ("lo", "eth0"), "eth0"),
            ("eth", ("lo", "eth1"), "eth1"),
            ("=eth", ("lo", "eth1"), None),
            ("ens5", ("lo", "eth0"), None),
            ("^lo,docker", ("lo", "docker0", "eth0"), "eth0"),
        ]
        for wanted, interfaces, want in cases:
            with self.subTest(wanted=wanted, interfaces=interfaces):
                self.assertEqual(want, match_interface(wanted, interfaces))


class ReachesTest(unittest.TestCase):
    def test_reaches(self) -> None:
        ingress, egress = SecurityGroup("sg-in", True, False), SecurityGroup("sg-out", False, True)
        cases = [
            ("own group on both", fabric(), fabric(), True),
            ("no group allows egress to itself", fabric(security_groups=(CLUSTER_GROUP,)), fabric(security_groups=(CLUSTER_GROUP,)), False),
            ("rules of two groups add up", fabric(security_groups=(ingress, egress)), fabric(security_groups=(egress, ingress)), True),
            ("no group in common", fabric(security_groups=(OWN_GROUP,)), fabric(security_groups=(SecurityGroup("sg-b", True, True),)), False),
            ("egress in a group that one lacks", fabric(security_groups=(ingress, egress)), fabric(security_groups=(ingress,)), False),
            ("two zones", fabric(), fabric(zone="us-east-2b", subnet="subnet-2"), False),
            ("two subnets of one zone", fabric(), fabric(subnet="subnet-2"), False),
        ]
        for name, one, other, want in cases:
            with self.subTest(name):
                self.assertEqual(want, reaches(one, other))
                self.assertEqual(want, reaches(other, one))


class DecideTest(unittest.TestCase):
    def ends(self, ranks: list) -> list[End]:
        return decide(ranks)[1]

    def test_all_in_place(self) -> None:
        self.assertEqual([End.CONNECTED] * 8, self.ends(two_nodes()))

    def test_sockets_connect_whatever_the_groups_are(self) -> None:
        ranks = two_nodes(unpinned(), has_plugin=False, fabric=fabric(security_groups=(CLUSTER_GROUP,)))
        self.assertEqual([End.CONNECTED] * 8, self.ends(ranks))

    def test_no_self_egress_hangs(self) -> None:
        self.assertEqual([End.NOT_CONNECTED] * 8, self.ends(two_nodes(fabric=fabric(security_groups=(CLUSTER_GROUP,)))))

    def test_one_node_needs_no_network(self) -> None:
        ranks = [rank(number, fabric=fabric(security_groups=())) for number in range(4)]
        self.assertEqual([End.CONNECTED] * 4, self.ends(ranks))

    def test_two_zones_hang(self) -> None:
        ranks = two_nodes()
        ranks[4:] = [replace(each, fabric=fabric(zone="us-east-2b", subnet="subnet-2")) for each in ranks[4:]]
        self.assertEqual([End.NOT_CONNECTED] * 8, self.ends(ranks))

    def test_two_networks_hang(self) -> None:
        ranks = two_nodes(unpinned())
        ranks[7] = replace(ranks[7], has_plugin=False)
        choices, ends = decide(ranks)
        self.assertEqual([End.NOT_CONNECTED] * 8, ends)
        self.assertEqual(["Libfabric"] * 7 + ["Socket"], [choice.network for choice in choices])

    def test_two_spellings_are_one_network(self) -> None:
        ranks = two_nodes()
        ranks[0] = rank(0, "node-0", {**PINNED, "NCCL_NET": "AWS Libfabric"})
        self.assertEqual([End.CONNECTED] * 8, self.ends(ranks))

    def test_one_abort_leaves_the_others_waiting(self) -> None:
        ranks = two_nodes()
        ranks[7] = replace(ranks[7], has_plugin=False)
        self.assertEqual([End.PEER_GONE] * 7 + [End.NO_NETWORK], self.ends(ranks))

    def test_wrong_interface_aborts(self) -> None:
        self.assertEqual([End.NO_INTERFACE] * 8, self.ends(two_nodes({**PINNED, "NCCL_SOCKET_IFNAME": "ens5"})))

    def test_host_ids_make_nodes(self) -> None:
        ranks = [rank(number, "same", {**PINNED, "NCCL_HOSTID": f"host-{number}"}, fabric=fabric(security_groups=())) for number in range(2)]
        self.assertEqual([End.NOT_CONNECTED] * 2, self.ends(ranks))


class PluginTest(unittest.TestCase):
    def test_defects(self) -> None:
        cases = [
            (None, 7, False),
            (Defect.CRASH, 7, False),
            (Defect.NO_PLUGIN, 0, True),
            (Defect.NO_PLUGIN_ON_ONE_NODE, 3, False),
            (Defect.NO_PLUGIN_ON_ONE_NODE, 4, True),
            (Defect.NO_PLUGIN_ON_ONE_RANK, 6, False),
            (Defect.NO_PLUGIN_ON_ONE_RANK, 7, True),
        ]
        for defect, number, want in cases:
            with self.subTest(defect=defect, rank=number):
                self.assertEqual(want, lacks_plugin(defect, number, 8))
