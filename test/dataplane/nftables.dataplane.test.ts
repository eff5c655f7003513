// The user stories as real packets: kube-proxy in nftables mode, central and agents, IPv4 and IPv6.

import { describeStories } from "./suite.ts";

describeStories("nftables");
