/* SPDX-License-Identifier: Apache-2.0
 *
 * relations_role: the relations between roles that we wrote down, each with its reason.
 *
 * They are portable where vendors' unit masks are not, and none of them is law: prefetchers, merged
 * misses and cancelled work break each somewhere. The width is where learning starts; a relation
 * that keeps being wrong is left out by the filter.
 */
#include "belief/build.h"

#define OF(role, share)                                                                            \
    { SY_ROLE_##role, share }
#define EQUAL(at, role, width, why, ...)                                                           \
    { SY_FACTOR_EQUAL, at, SY_ROLE_##role, {__VA_ARGS__}, width, why }
#define MOST(at, role, width, why, ...)                                                            \
    { SY_FACTOR_AT_MOST, at, SY_ROLE_##role, {__VA_ARGS__}, width, why }

static const struct sy_written relations[] = {
    /* a core: work */
    MOST(SY_AT_CORE, CYCLES, 0.05, "no core retires more than ten instructions in a cycle",
         OF(INST, 0.1)),
    EQUAL(SY_AT_CORE, UOPS_RETIRED, 0.3, "an instruction is about one micro-op", OF(INST, 1.1)),
    MOST(SY_AT_CORE, UOPS_ISSUED, 0.1, "what retires was issued", OF(UOPS_RETIRED, 1)),
    EQUAL(SY_AT_CORE, UOPS_ISSUED, 0.3, "most of what is issued retires", OF(UOPS_RETIRED, 1.1)),
    MOST(SY_AT_CORE, SLOTS, 0.05, "each micro-op issued takes a slot", OF(UOPS_ISSUED, 1)),
    MOST(SY_AT_CORE, SLOTS, 0.05, "each cycle has at least one slot", OF(CYCLES, 1)),
    EQUAL(SY_AT_CORE, SLOTS, 0.05, "a slot retires, starves, stalls or is cancelled",
          OF(UOPS_RETIRED, 1), OF(FE_STALL, 1), OF(BE_STALL, 1), OF(BAD_SPEC, 1)),
    MOST(SY_AT_CORE, SLOTS, 0.05, "a slot that retired was not stalled", OF(UOPS_RETIRED, 1),
         OF(FE_STALL, 1), OF(BE_STALL, 1)),
    EQUAL(SY_AT_CORE, SLOTS, 0.1,
          "a slot issues, starves or stalls; recovery and a sibling thread take some",
          OF(UOPS_ISSUED, 1), OF(FE_STALL, 1), OF(BE_STALL, 1)),
    MOST(SY_AT_CORE, CYCLES, 0.1, "a cycle stalls on one end at a time", OF(FE_CYCLES, 1),
         OF(BE_CYCLES, 1)),
    EQUAL(SY_AT_CORE, CYCLES, 0.5, "the clock is near its nominal rate", OF(REF_CYCLES, 1)),
    MOST(SY_AT_CORE, CPU_BUSY, 0.1,
         "a thread that does not run has no cycles; no clock is beyond 7 GHz",
         OF(CYCLES, 1.0 / 7e9)),
    MOST(SY_AT_CORE, CYCLES, 0.1, "no core does more than 128 floating-point operations in a cycle",
         OF(FLOPS, 1.0 / 128)),
    /* a core: memory */
    MOST(SY_AT_CORE, INST, 0.2, "three accesses in two instructions is much", OF(LOADS, 0.67),
         OF(STORES, 0.67)),
    EQUAL(SY_AT_CORE, L1D_ACCESS, 0.2, "loads and stores look into L1", OF(LOADS, 1),
          OF(STORES, 1)),
    EQUAL(SY_AT_CORE, LOADS, 0.1, "a load hits or misses L1", OF(L1D_HIT, 1), OF(L1D_LOAD_MISS, 1)),
    MOST(SY_AT_CORE, L1D_ACCESS, 0.1, "only an access misses", OF(L1D_MISS, 1)),
    EQUAL(SY_AT_CORE, L2_REF, 0.5, "misses of L1 go to L2; prefetches add to them", OF(L1D_MISS, 1),
          OF(L1I_MISS, 1)),
    EQUAL(SY_AT_CORE, L2_REF, 0.2, "a request hits or misses L2", OF(L2_HIT, 1), OF(L2_MISS, 1)),
    MOST(SY_AT_CORE, L2_REF, 0.1, "only a request misses", OF(L2_MISS, 1)),
    EQUAL(SY_AT_CORE, L3_REF, 0.4, "misses of L2 go to the last cache", OF(L2_MISS, 1)),
    EQUAL(SY_AT_CORE | SY_AT_PACKAGE, L3_REF, 0.2, "a request hits or misses the last cache",
          OF(L3_HIT, 1), OF(L3_MISS, 1)),
    EQUAL(SY_AT_CORE, L2_MISS, 0.4, "what missed L2 hits or misses the last cache", OF(L3_HIT, 1),
          OF(L3_MISS, 1)),
    MOST(SY_AT_CORE | SY_AT_PACKAGE, L3_REF, 0.1, "only a request misses", OF(L3_MISS, 1)),
    MOST(SY_AT_CORE, L3_MISS, 0.3, "what memory fills had missed the last cache", OF(DRAM_FILL, 1),
         OF(REMOTE_FILL, 1)),
    EQUAL(SY_AT_CORE, L1D_LOAD_MISS, 0.1, "a load that missed L1 hits or misses L2",
          OF(L2_LOAD_HIT, 1), OF(L2_LOAD_MISS, 1)),
    EQUAL(SY_AT_CORE, L2_LOAD_MISS, 0.1, "a load that missed L2 hits or misses the last cache",
          OF(L3_LOAD_HIT, 1), OF(L3_LOAD_MISS, 1)),
    EQUAL(SY_AT_CORE, L3_LOAD_MISS, 0.3,
          "what memory fills had missed the last cache; other sockets' caches fill some",
          OF(DRAM_FILL, 1), OF(REMOTE_FILL, 1)),
    MOST(SY_AT_CORE, LOADS, 0.1, "only a load misses", OF(L1D_LOAD_MISS, 1)),
    MOST(SY_AT_CORE, L2_MISS, 0.2, "a load that misses is a request that misses",
         OF(L2_LOAD_MISS, 1)),
    MOST(SY_AT_CORE, L3_MISS, 0.2, "a load that misses is a request that misses",
         OF(L3_LOAD_MISS, 1)),
    MOST(SY_AT_CORE, L2_MISS, 0.5, "a line that is written back was once brought in", OF(L2_WB, 1)),
    MOST(SY_AT_CORE, INST, 0.1, "a TLB miss belongs to an instruction", OF(DTLB_MISS, 1)),
    MOST(SY_AT_CORE, INST, 0.2, "an instruction is fetched once, more or less", OF(ITLB_MISS, 1),
         OF(L1I_MISS, 1)),
    MOST(SY_AT_CORE, INST, 0.05, "a branch is an instruction", OF(BRANCHES, 1)),
    MOST(SY_AT_CORE, BRANCHES, 0.1, "only a branch is mispredicted", OF(BR_MISS, 1)),
    /* a socket */
    EQUAL(SY_AT_PACKAGE, DRAM_TOTAL, 0.03, "memory traffic is reads and writes", OF(DRAM_READ, 1),
          OF(DRAM_WRITE, 1)),
    EQUAL(SY_AT_PACKAGE, DRAM_READ, 0.5,
          "misses of the last cache and devices read memory; prefetches add to them",
          OF(L3_MISS, 64), OF(PCIE_READ, 1)),
    EQUAL(SY_AT_PACKAGE, DRAM_READ, 0.6, "misses of the last cache read a line each",
          OF(L3_MISS, 64)),
    EQUAL(SY_AT_PACKAGE, DRAM_WRITE, 0.8, "dirty lines and devices end up in memory", OF(L2_WB, 64),
          OF(PCIE_WRITE, 1)),
    MOST(SY_AT_PACKAGE, MBM_TOTAL, 0.05, "local traffic is part of all traffic", OF(MBM_LOCAL, 1)),
    EQUAL(SY_AT_PACKAGE, DRAM_TOTAL, 0.5,
          "what cores fetch past the last cache comes from memory, mostly from their own",
          OF(MBM_TOTAL, 1)),
    EQUAL(SY_AT_PACKAGE, MBM_TOTAL, 0.5, "each miss of the last cache moves a line",
          OF(L3_MISS, 64)),
    EQUAL(SY_AT_PACKAGE, XSOCKET, 1.0, "lines from afar cross between sockets",
          OF(REMOTE_FILL, 64)),
    /* power */
    EQUAL(SY_AT_PACKAGE | SY_AT_GPU | SY_AT_BOARD, POWER, 0.05, "power is energy over time",
          OF(ENERGY, 1)),
    /* a GPU */
    MOST(SY_AT_GPU, GPU_BUSY, 0.1, "processors are active only while a kernel runs",
         OF(SM_ACTIVE, 1)),
    MOST(SY_AT_GPU, SM_ACTIVE, 0.1, "warps are resident on active processors", OF(SM_OCCUPANCY, 1)),
    MOST(SY_AT_GPU, SM_ACTIVE, 0.1, "tensor pipes are part of active processors",
         OF(TENSOR_ACTIVE, 1)),
    /* the machine */
    MOST(SY_AT_MACHINE, PSI_MEMORY, 0.1, "where all wait, some wait", OF(PSI_MEMORY_FULL, 1)),
    MOST(SY_AT_MACHINE, PSI_IO, 0.1, "where all wait, some wait", OF(PSI_IO_FULL, 1)),
};

const struct sy_written *sy_written_relations(uint32_t *ret_count) {
    *ret_count = SY_COUNT(relations);
    return relations;
}
