/* SPDX-License-Identifier: Apache-2.0
 *
 * The same scenario played by SimGrid: one actor per chain, plain max-min sharing.
 *
 * SimGrid's network model normally adds what TCP does on the Internet; all of that is switched off
 * here, latency is zero, and its precision is set well below the differences we look for.
 */
#include "scenario.h"
#include <cerrno>
#include <cmath>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

static const char *const options[] = {"scenario",
                                      "--cfg=network/model:CM02",
                                      "--cfg=network/bandwidth-factor:1",
                                      "--cfg=network/latency-factor:1",
                                      "--cfg=network/weight-S:0",
                                      "--cfg=network/TCP-gamma:0",
                                      "--cfg=network/crosstraffic:0",
                                      "--cfg=maxmin/precision:1e-9",
                                      "--cfg=surf/precision:1e-9",
                                      "--log=root.thres:warning"};

static sg4::Link *create_link(sg4::NetZone *zone, const std::string &name, double bytes_per_s) {
    return zone->create_link(name, bytes_per_s)->set_latency(0)->seal();
}

static std::vector<sg4::Host *> build(const struct scenario *scenario) {
    sg4::NetZone *zone = sg4::create_full_zone("net");
    std::vector<sg4::Host *> hosts;
    std::vector<sg4::Link *> links;
    for (uint32_t h = 0; h < scenario->host_count; h++) {
        hosts.push_back(zone->create_host("h" + std::to_string(h), 1e9));
    }
    for (uint32_t l = 0; l < scenario->link_count; l++) {
        links.push_back(create_link(zone, "l" + std::to_string(l), scenario->bytes_per_s[l]));
    }
    for (uint32_t r = 0; r < scenario->route_count; r++) {
        const struct scenario_route *route = &scenario->routes[r];
        std::vector<sg4::LinkInRoute> path;
        for (uint32_t k = 0; k < route->link_count; k++) {
            path.emplace_back(links[route->links[k]]);
        }
        /* Comm::set_rate has no effect on sendto, so a bound is a link of the route's own. */
        if (std::isfinite(route->bound_bytes_per_s)) {
            path.emplace_back(create_link(zone, "b" + std::to_string(r), route->bound_bytes_per_s));
        }
        zone->add_route(hosts[route->from]->get_netpoint(), hosts[route->to]->get_netpoint(),
                        nullptr, nullptr, path, false);
    }
    zone->seal();
    return hosts;
}

static void send_chain(const struct scenario *scenario, const std::vector<sg4::Host *> &hosts,
                       const struct scenario_chain *chain, double *ret_end_s) {
    sg4::this_actor::sleep_until(chain->start_s);
    for (uint32_t t = chain->first; t < chain->first + chain->count; t++) {
        const struct scenario_transfer *transfer = &scenario->transfers[t];
        const struct scenario_route *route = &scenario->routes[transfer->route];
        sg4::Comm::sendto(hosts[route->from], hosts[route->to], transfer->bytes);
        ret_end_s[t] = sg4::Engine::get_clock();
    }
}

static double cpu_ns() {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

extern "C" int scenario_play_simgrid(const struct scenario *scenario, double *ret_end_s,
                                     double *ret_cpu_ns) {
    try {
        std::vector<char *> arguments;
        for (const char *option : options) {
            arguments.push_back(const_cast<char *>(option));
        }
        arguments.push_back(nullptr);
        int count = static_cast<int>(arguments.size()) - 1;
        sg4::Engine engine(&count, arguments.data());
        std::vector<sg4::Host *> hosts = build(scenario);
        for (uint32_t c = 0; c < scenario->chain_count; c++) {
            const struct scenario_chain *chain = &scenario->chains[c];
            sg4::Actor::create("chain" + std::to_string(c), hosts[0],
                               [=, &hosts] { send_chain(scenario, hosts, chain, ret_end_s); });
        }
        double from_ns = cpu_ns();
        engine.run();
        *ret_cpu_ns = cpu_ns() - from_ns;
        return 0;
    } catch (const std::exception &) {
        return -EIO;
    }
}
