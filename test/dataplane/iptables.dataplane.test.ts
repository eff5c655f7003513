// The user stories as real packets: kube-proxy in iptables mode, central and agents, IPv4 and IPv6.

import { describeStories } from "./suite.ts";

describeStories("iptables");
