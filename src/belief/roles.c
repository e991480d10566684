/* SPDX-License-Identifier: Apache-2.0
 *
 * roles: what counters mean on every machine, and what each vendor calls them.
 *
 * In: a name. Out: its role. The table is data: fixed words and '*', in order of preference. A name
 * that is in no row has no role and is no error. docs/belief.md prints what each architecture
 * offers.
 */
#include "belief/build.h"
#include <ctype.h>
#include <string.h>

#define ANY_CPU (SY_AT_CORE | SY_AT_PACKAGE)
#define CHIP    (SY_AT_PACKAGE | SY_AT_GPU | SY_AT_BOARD)

/* A rate's start is a guess within a factor of twenty; a share's within its range. */
#define RATE(start)  (start), 3.0, 0.15, 1e3
#define BYTES(start) (start), 3.0, 0.15, 1e5
#define SHARE(start) (start), 1.2, 0.15, 5e-3

static const struct sy_role_info infos[SY_ROLE_COUNT] = {
    [SY_ROLE_INST] = {"inst", "/s", SY_AT_CORE, RATE(1e9), "instructions retired"},
    [SY_ROLE_CYCLES] = {"cycles", "/s", SY_AT_CORE, RATE(1e9), "clock cycles not halted"},
    [SY_ROLE_REF_CYCLES] = {"ref_cycles", "/s", SY_AT_CORE, RATE(1e9),
                            "not halted, at the nominal clock"},
    [SY_ROLE_SLOTS] = {"slots", "/s", SY_AT_CORE, RATE(4e9), "issue slots"},
    [SY_ROLE_UOPS_RETIRED] = {"uops_retired", "/s", SY_AT_CORE, RATE(1e9), "micro-ops retired"},
    [SY_ROLE_UOPS_ISSUED] = {"uops_issued", "/s", SY_AT_CORE, RATE(1e9), "micro-ops issued"},
    [SY_ROLE_FE_STALL] = {"fe_stall", "/s", SY_AT_CORE, RATE(5e8),
                          "slots that the front end left empty"},
    [SY_ROLE_BE_STALL] = {"be_stall", "/s", SY_AT_CORE, RATE(1e9),
                          "slots that the back end refused"},
    [SY_ROLE_BAD_SPEC] = {"bad_spec", "/s", SY_AT_CORE, RATE(2e8), "slots of cancelled work"},
    [SY_ROLE_FE_CYCLES] = {"fe_cycles", "/s", SY_AT_CORE, RATE(2e8),
                           "cycles stalled on the front end"},
    [SY_ROLE_BE_CYCLES] = {"be_cycles", "/s", SY_AT_CORE, RATE(5e8),
                           "cycles stalled on the back end"},
    [SY_ROLE_LOADS] = {"loads", "/s", SY_AT_CORE, RATE(3e8), "loads"},
    [SY_ROLE_STORES] = {"stores", "/s", SY_AT_CORE, RATE(1e8), "stores"},
    [SY_ROLE_BRANCHES] = {"branches", "/s", SY_AT_CORE, RATE(2e8), "branches retired"},
    [SY_ROLE_BR_MISS] = {"br_miss", "/s", SY_AT_CORE, RATE(4e6), "branches mispredicted"},
    [SY_ROLE_L1D_HIT] = {"l1d_hit", "/s", SY_AT_CORE, RATE(3e8), "loads that hit L1"},
    [SY_ROLE_L1D_ACCESS] = {"l1d_access", "/s", SY_AT_CORE, RATE(4e8), "accesses to L1 data"},
    [SY_ROLE_L1D_MISS] = {"l1d_miss", "/s", SY_AT_CORE, RATE(1e7), "L1 data misses"},
    [SY_ROLE_L1I_MISS] = {"l1i_miss", "/s", SY_AT_CORE, RATE(2e6), "L1 instruction misses"},
    [SY_ROLE_DTLB_MISS] = {"dtlb_miss", "/s", SY_AT_CORE, RATE(1e6), "data TLB misses"},
    [SY_ROLE_ITLB_MISS] = {"itlb_miss", "/s", SY_AT_CORE, RATE(1e5), "instruction TLB misses"},
    [SY_ROLE_L2_REF] = {"l2_ref", "/s", SY_AT_CORE, RATE(1.5e7), "requests to L2"},
    [SY_ROLE_L2_HIT] = {"l2_hit", "/s", SY_AT_CORE, RATE(1e7), "L2 hits"},
    [SY_ROLE_L2_MISS] = {"l2_miss", "/s", SY_AT_CORE, RATE(5e6), "L2 misses"},
    [SY_ROLE_L2_WB] = {"l2_wb", "/s", ANY_CPU, RATE(2e6), "dirty lines out of L2"},
    [SY_ROLE_L1D_LOAD_MISS] = {"l1d_load_miss", "/s", SY_AT_CORE, RATE(1e7), "loads that miss L1"},
    [SY_ROLE_L2_LOAD_HIT] = {"l2_load_hit", "/s", SY_AT_CORE, RATE(7e6), "loads that hit L2"},
    [SY_ROLE_L2_LOAD_MISS] = {"l2_load_miss", "/s", SY_AT_CORE, RATE(3e6), "loads that miss L2"},
    [SY_ROLE_L3_LOAD_HIT] = {"l3_load_hit", "/s", SY_AT_CORE, RATE(2e6),
                             "loads that hit the last cache"},
    [SY_ROLE_L3_LOAD_MISS] = {"l3_load_miss", "/s", SY_AT_CORE, RATE(1e6),
                              "loads that miss the last cache"},
    [SY_ROLE_DRAM_FILL] = {"dram_fill", "/s", SY_AT_CORE, RATE(1e6),
                           "fills from this socket's memory"},
    [SY_ROLE_REMOTE_FILL] = {"remote_fill", "/s", ANY_CPU, RATE(1e5),
                             "fills from another socket's memory"},
    [SY_ROLE_FLOPS] = {"flops", "/s", SY_AT_CORE, RATE(1e8), "floating-point operations"},
    [SY_ROLE_CONTEXT_SWITCHES] = {"context_switches", "/s", SY_AT_CORE | SY_AT_MACHINE, 1e3, 3, .3,
                                  1, "context switches"},
    [SY_ROLE_L3_REF] = {"l3_ref", "/s", ANY_CPU, RATE(5e6), "requests to the last cache"},
    [SY_ROLE_L3_HIT] = {"l3_hit", "/s", ANY_CPU, RATE(4e6), "hits in the last cache"},
    [SY_ROLE_L3_MISS] = {"l3_miss", "/s", ANY_CPU, RATE(1e6), "misses of the last cache"},
    [SY_ROLE_CPU_BUSY] = {"cpu_busy", "", ANY_CPU | SY_AT_MACHINE, SHARE(0.3),
                          "hardware threads that run something"},
    [SY_ROLE_DRAM_READ] = {"dram_read", "B/s", SY_AT_PACKAGE, BYTES(2e9), "read from memory"},
    [SY_ROLE_DRAM_WRITE] = {"dram_write", "B/s", SY_AT_PACKAGE, BYTES(1e9), "written to memory"},
    [SY_ROLE_DRAM_TOTAL] = {"dram_total", "B/s", SY_AT_PACKAGE, BYTES(3e9), "memory traffic"},
    [SY_ROLE_XSOCKET] = {"xsocket", "B/s", SY_AT_PACKAGE, BYTES(2e8), "sent to other sockets"},
    [SY_ROLE_PCIE_READ] = {"pcie_read", "B/s", SY_AT_PACKAGE, BYTES(1e8),
                           "read from host memory by devices"},
    [SY_ROLE_PCIE_WRITE] = {"pcie_write", "B/s", SY_AT_PACKAGE, BYTES(1e8),
                            "written to host memory by devices"},
    [SY_ROLE_UNCORE_CLOCK] = {"uncore_clock", "/s", SY_AT_PACKAGE, RATE(2e9),
                              "clock outside the cores"},
    [SY_ROLE_MBM_TOTAL] = {"mbm_total", "B/s", SY_AT_PACKAGE, BYTES(2e9),
                           "resctrl: memory traffic behind the last cache"},
    [SY_ROLE_MBM_LOCAL] = {"mbm_local", "B/s", SY_AT_PACKAGE, BYTES(2e9),
                           "resctrl: of it, this socket's memory"},
    [SY_ROLE_LLC_USED] = {"llc_used", "B", SY_AT_PACKAGE, BYTES(1e7), "resctrl: last cache in use"},
    [SY_ROLE_POWER] = {"power", "W", CHIP, 60, 1, 0.1, 0.5, "power"},
    [SY_ROLE_ENERGY] = {"energy", "W", CHIP, 60, 1, 0.1, 0.5, "power, from an energy meter"},
    [SY_ROLE_DRAM_POWER] = {"dram_power", "W", SY_AT_PACKAGE, 5, 1, 0.1, 0.5, "power of memory"},
    [SY_ROLE_GPU_BUSY] = {"gpu_busy", "", SY_AT_GPU, SHARE(0.3), "share of time a kernel ran"},
    [SY_ROLE_SM_ACTIVE] = {"sm_active", "", SY_AT_GPU, SHARE(0.3), "share of processors active"},
    [SY_ROLE_SM_OCCUPANCY] = {"sm_occupancy", "", SY_AT_GPU, SHARE(0.2), "share of warps resident"},
    [SY_ROLE_TENSOR_ACTIVE] = {"tensor_active", "", SY_AT_GPU, SHARE(0.05), "tensor pipes active"},
    [SY_ROLE_GPU_DRAM] = {"gpu_dram", "", SY_AT_GPU, SHARE(0.2), "GPU memory bandwidth in use"},
    [SY_ROLE_GPU_PCIE_RX] = {"gpu_pcie_rx", "B/s", SY_AT_GPU | SY_AT_BOARD, BYTES(1e8),
                             "received from the host"},
    [SY_ROLE_GPU_PCIE_TX] = {"gpu_pcie_tx", "B/s", SY_AT_GPU | SY_AT_BOARD, BYTES(1e8),
                             "sent to the host"},
    [SY_ROLE_GPU_MEMORY] = {"gpu_memory", "", SY_AT_GPU, SHARE(0.1), "GPU memory in use"},
    [SY_ROLE_BOARD_BUSY] = {"board_busy", "", SY_AT_BOARD, SHARE(0.3), "share of regions at work"},
    [SY_ROLE_PSI_CPU] = {"psi_cpu", "", SY_AT_MACHINE, SHARE(0.1), "tasks waited for a processor"},
    [SY_ROLE_PSI_MEMORY] = {"psi_memory", "", SY_AT_MACHINE, SHARE(0.01), "some waited for memory"},
    [SY_ROLE_PSI_MEMORY_FULL] = {"psi_memory_full", "", SY_AT_MACHINE, SHARE(0.01),
                                 "all waited for memory"},
    [SY_ROLE_PSI_IO] = {"psi_io", "", SY_AT_MACHINE, SHARE(0.01), "some waited for I/O"},
    [SY_ROLE_PSI_IO_FULL] = {"psi_io_full", "", SY_AT_MACHINE, SHARE(0.01), "all waited for I/O"},
    [SY_ROLE_MEMORY_USED] = {"memory_used", "", SY_AT_MACHINE, SHARE(0.3), "host memory in use"},
};

const struct sy_role_info *sy_role_info(enum sy_role role) {
    return &infos[role];
}

/* Vendors in the order Intel (new, old, E cores), AMD, Arm, POWER, RISC-V, s390, perf's own. */
static const struct sy_role_row rows[] = {
    {SY_ROLE_INST, 0, 1,
     "inst_retired.any inst_retired.any_p ex_ret_instr inst_retired pm_run_inst_cmpl pm_inst_cmpl "
     "instructions instruction_retired instructions_retired"},
    {SY_ROLE_CYCLES, 0, 1,
     "cpu_clk_unhalted.thread cpu_clk_unhalted.core cpu_clk_unhalted.thread_p "
     "cpu_clk_unhalted.core_p ls_not_halted_cyc cpu_cycles pm_run_cyc pm_cyc cycles cycle_count "
     "cpu-cycles"},
    {SY_ROLE_REF_CYCLES, 0, 1,
     "cpu_clk_unhalted.ref_tsc cpu_clk_unhalted.ref_tsc_p cpu_clk_unhalted.ref "
     "cpu_clk_unhalted.ref_xclk ls_not_halted_p0_cyc* cnt_cycles ref-cycles bus_cycles"},
    {SY_ROLE_SLOTS, 0, 1, "topdown.slots topdown.slots_p slots total_dispatch_slots"},
    {SY_ROLE_UOPS_RETIRED, 0, 1,
     "uops_retired.slots uops_retired.retire_slots topdown_retiring.all topdown-retiring "
     "ex_ret_ops op_retired macro_ops_retired uops_retired.all uops_retired.any ex_ret_cops"},
    {SY_ROLE_UOPS_ISSUED, 0, 1,
     "uops_issued.any de_src_op_disp.all op_spec inst_spec pm_inst_disp uop_spec"},
    {SY_ROLE_FE_STALL, 0, 1,
     "idq_bubbles.core idq_uops_not_delivered.core topdown_fe_bound.all topdown-fe-bound "
     "de_no_dispatch_per_slot.no_ops_from_frontend stall_slot_frontend uops_not_delivered.any"},
    {SY_ROLE_BE_STALL, 0, 1,
     "topdown.backend_bound_slots topdown_be_bound.all topdown-be-bound "
     "de_no_dispatch_per_slot.backend_stalls stall_slot_backend "
     "issue_slots_not_consumed.resource_full"},
    {SY_ROLE_BAD_SPEC, 0, 1,
     "topdown.bad_spec_slots topdown_bad_speculation.all topdown-bad-spec "
     "issue_slots_not_consumed.recovery"},
    {SY_ROLE_FE_CYCLES, 0, 1,
     "stall_frontend pm_ict_noslot_cyc pm_gct_noslot_cyc pm_disp_stall_cyc "
     "stalled-cycles-frontend de_dis_uop_queue_empty_di0 ifu_stalled_cycle fetch_stall.all "
     "idq_uops_not_delivered.cycles_0_uops_deliv.core"},
    {SY_ROLE_BE_CYCLES, 0, 1,
     "stall_backend pm_cmplu_stall pm_exec_stall stalled-cycles-backend resource_stalls.any "
     "idu_stalled_cycle"},
    {SY_ROLE_LOADS, 0, 1,
     "mem_inst_retired.all_loads mem_uops_retired.all_loads mem_inst_retired.loads "
     "ls_dispatch.ld_dispatch mem_access_rd ld_spec ld_retired pm_ld_ref_l1 pm_ld_cmpl "
     "integer_load_retired l1_dcache_read_access l1-dcache-loads"},
    {SY_ROLE_STORES, 0, 1,
     "mem_inst_retired.all_stores mem_uops_retired.all_stores mem_inst_retired.stores "
     "ls_dispatch.store_dispatch mem_access_wr st_spec st_retired pm_st_cmpl pm_st_fin "
     "integer_store_retired inst_store l1_dcache_write_access l1-dcache-stores"},
    {SY_ROLE_BRANCHES, 0, 1,
     "br_inst_retired.all_branches ex_ret_brn br_retired pm_br_cmpl pm_br_fin br_pred inst_branch "
     "conditional_branch_retired br_inst_exec.all_branches br_inst_exec.any branches "
     "branch-instructions"},
    {SY_ROLE_BR_MISS, 0, 1,
     "br_misp_retired.all_branches ex_ret_brn_misp br_mis_pred_retired br_mis_pred "
     "pm_br_mpred_cmpl inst_branch_mispredict branch_direction_misprediction "
     "br_misp_exec.all_branches br_misp_exec.any branch-misses"},
    {SY_ROLE_L1D_HIT, 0, 1,
     "mem_load_retired.l1_hit mem_load_uops_retired.l1_hit mem_load_retired.l1d_hit"},
    {SY_ROLE_L1D_ACCESS, 0, 1,
     "ls_dc_accesses all_data_cache_accesses l1d_cache l1d_all_ref.any l1_dcache_access"},
    {SY_ROLE_L1D_MISS, 0, 1,
     "l1d.replacement l1d.repl dl1.replacement ls_any_fills_from_sys.all "
     "l1_data_cache_fills_all ls_refills_from_sys.* ls_mab_alloc.all_allocations "
     "ls_mab_alloc.loads l1d_cache_refill l1_dcache_read_miss l1d_dir_writes "
     "l1d_directory_writes l1-dcache-load-misses"},
    {SY_ROLE_L1I_MISS, 0, 1,
     "icache_64b.iftag_miss icache.misses l1i.misses frontend_retired.l1i_miss "
     "icache_data.stalls ic_tag_hit_miss.instruction_cache_miss ic_fw32_miss ic_cache_fill_l2 "
     "l1i_cache_refill pm_l1_icache_miss l1_icache_miss l1i_dir_writes l1i_directory_writes "
     "l1-icache-load-misses"},
    {SY_ROLE_DTLB_MISS, 0, 1,
     "dtlb_load_misses.walk_completed dtlb_load_misses.miss_causes_a_walk dtlb_misses.any "
     "ls_l1_d_tlb_miss.all_l2_miss ls_l1_d_tlb_miss.all l2_dtlb_misses l1_dtlb_misses dtlb_walk "
     "l1d_tlb_refill pm_dtlb_miss dtlb_load_misses.walk_completed_4k data_tlb_miss dtlb_miss "
     "dtlb2_misses dtlb1_misses dtlb-load-misses mem_uops_retired.dtlb_miss"},
    {SY_ROLE_ITLB_MISS, 0, 1,
     "itlb_misses.walk_completed itlb_misses.miss_causes_a_walk itlb_misses.any itlb.miss "
     "bp_l1_tlb_miss_l2_tlb_miss.all bp_l1_tlb_miss_l2_tlb_miss l2_itlb_misses itlb_walk "
     "l1i_tlb_refill pm_itlb_miss itlb_misses.walk_completed_4k inst_tlb_miss itlb_miss "
     "itlb2_misses itlb1_misses itlb-load-misses"},
    {SY_ROLE_L2_REF, 0, 1,
     "l2_rqsts.references l2_request_g1.all l2_request_g1.all_no_prefetch "
     "l2_trans.all_requests l2d_cache pm_l2_ld pm_l2_ld_disp l2_request.all"},
    {SY_ROLE_L2_HIT, 0, 1,
     "l2_rqsts.hit l2_request.hit l2_cache_req_stat.ic_dc_hit_in_l2 "
     "l2_cache_hits_from_dc_misses"},
    {SY_ROLE_L2_MISS, 0, 1,
     "l2_rqsts.miss l2_request.miss l2_lines_in.all l2_lines_in.any "
     "l2_cache_req_stat.ic_dc_miss_in_l2 l2d_cache_refill pm_l2_ld_miss l2_miss_count"},
    {SY_ROLE_L2_WB, 0, 1,
     "l2_lines_out.non_silent l2_trans.l2_wb l2_transactions.wb l2_lines_out.dirty_all "
     "l2d_cache_wb pm_l2_castout_mod pm_l3_co dcache_writeback"},
    {SY_ROLE_L1D_LOAD_MISS, 0, 1,
     "mem_load_retired.l1_miss mem_load_uops_retired.l1_miss pm_ld_miss_l1 pm_data_from_l1miss"},
    {SY_ROLE_L2_LOAD_HIT, 0, 1,
     "mem_load_retired.l2_hit mem_load_uops_retired.l2_hit pm_data_from_l2 pm_data_from_l2_all"},
    {SY_ROLE_L2_LOAD_MISS, 0, 1,
     "mem_load_retired.l2_miss mem_load_uops_retired.l2_miss pm_data_from_l2miss"},
    {SY_ROLE_L3_LOAD_HIT, 0, 1,
     "mem_load_retired.l3_hit mem_load_uops_retired.l3_hit mem_load_uops_retired.llc_hit "
     "mem_load_retired.llc_unshared_hit pm_data_from_l3 pm_data_from_l3_all"},
    {SY_ROLE_L3_LOAD_MISS, 0, 1,
     "mem_load_retired.l3_miss mem_load_uops_retired.l3_miss mem_load_uops_retired.llc_miss "
     "mem_load_retired.llc_miss pm_data_from_l3miss"},
    {SY_ROLE_DRAM_FILL, 0, 1,
     "mem_load_l3_miss_retired.local_dram mem_load_uops_l3_miss_retired.local_dram "
     "mem_load_uops_llc_miss_retired.local_dram mem_load_uops_retired.dram_hit "
     "mem_uncore_retired.local_dram ls_any_fills_from_sys.dram_io_near "
     "ls_any_fills_from_sys.mem_io_local ls_dmnd_fills_from_sys.dram_io_near "
     "l1_data_cache_fills_from_memory ls_refills_from_sys.ls_mabresp_lcl_dram "
     "pm_data_from_lmem pm_data_from_memory bus_read_total_mem"},
    {SY_ROLE_REMOTE_FILL, 0, 1,
     "mem_load_l3_miss_retired.remote_dram mem_load_uops_l3_miss_retired.remote_dram "
     "mem_load_uops_llc_miss_retired.remote_dram mem_uncore_retired.remote_dram "
     "ls_any_fills_from_sys.dram_io_far ls_any_fills_from_sys.mem_io_remote "
     "ls_dmnd_fills_from_sys.dram_io_far l1_data_cache_fills_from_remote_node "
     "ls_refills_from_sys.ls_mabresp_rmt_dram remote_access pm_data_from_rmem"},
    {SY_ROLE_FLOPS, 0, 1,
     "fp_flops_retired.all fp_ret_sse_avx_ops.all pm_flop_cmpl pm_flop fp_fixed_ops_spec vfp_spec "
     "inst_fp"},
    {SY_ROLE_FLOPS, 1, 1, "fp_arith_inst_retired.scalar"},
    {SY_ROLE_FLOPS, 1, 4, "fp_arith_inst_retired.4_flops"},
    {SY_ROLE_FLOPS, 1, 8, "fp_arith_inst_retired.8_flops"},
    {SY_ROLE_FLOPS, 2, 1, "fp_arith_inst_retired.scalar_*"},
    {SY_ROLE_FLOPS, 2, 2, "fp_arith_inst_retired.128b_packed_double"},
    {SY_ROLE_FLOPS, 2, 4,
     "fp_arith_inst_retired.128b_packed_single "
     "fp_arith_inst_retired.256b_packed_double"},
    {SY_ROLE_FLOPS, 2, 8,
     "fp_arith_inst_retired.256b_packed_single "
     "fp_arith_inst_retired.512b_packed_double"},
    {SY_ROLE_FLOPS, 2, 16, "fp_arith_inst_retired.512b_packed_single"},
    {SY_ROLE_FLOPS, 3, 1, "fp_comp_ops_exe.sse_scalar_*"},
    {SY_ROLE_FLOPS, 3, 2, "fp_comp_ops_exe.sse_packed_double"},
    {SY_ROLE_FLOPS, 3, 4, "fp_comp_ops_exe.sse_packed_single simd_fp_256.packed_double"},
    {SY_ROLE_FLOPS, 3, 8, "simd_fp_256.packed_single"},
    {SY_ROLE_FLOPS, 0, 1, "fp_comp_ops_exe.sse_fp"},
    {SY_ROLE_CONTEXT_SWITCHES, 0, 1, "context-switches context_switches cs ctxt"},
    {SY_ROLE_L3_REF, 0, 1,
     "longest_lat_cache.reference l3_lookup_state.all_coherent_accesses_to_l3 "
     "l3_lookup_state.all_l3_req_typs l3_cache_accesses l3_request_g1.caching_l3_cache_accesses "
     "hnf_slc_sf_cache_access arm_cmn_hnf_slc_sf_cache_access l3d_cache l3d_cache_rd ll_cache_rd "
     "ll_cache_read_access cache-references llc-loads"},
    {SY_ROLE_L3_HIT, 0, 1, "l3_lookup_state.l3_hit"},
    {SY_ROLE_L3_MISS, 0, 1,
     "longest_lat_cache.miss l3_lookup_state.l3_miss l3_misses "
     "l3_comb_clstr_state.request_miss hnf_cache_miss arm_cmn_hnf_cache_miss "
     "l3d_cache_refill ll_cache_miss_rd l3d_cache_lmiss_rd ll_cache_read_miss cache-misses "
     "llc-load-misses"},
    {SY_ROLE_CPU_BUSY, 0, 1, "busy cpu_busy cpu.busy utilisation"},
    {SY_ROLE_DRAM_READ, 0, 64,
     "unc_m_cas_count.rd umc_cas_cmd.rd unc_m_cas_count_rd llc_misses.mem_read "
     "unc_mc_cas_count.rd op_is_rd"},
    {SY_ROLE_DRAM_READ, 1, 64, "unc_m_cas_count_sch*.rd"},
    {SY_ROLE_DRAM_READ, 2, 64, "unc_mc*_rdcas_count_freerun"},
    {SY_ROLE_DRAM_READ, 3, 128, "*pm_mcs*128b_rd_d*"},
    {SY_ROLE_DRAM_READ, 4, 64, "local_processor_read_data_beats_cs*"},
    {SY_ROLE_DRAM_READ, 0, 32, "flux_rd"},
    {SY_ROLE_DRAM_READ, 5, 64, "unc_c_dram_reads unc_arb_trk_requests.rd"},
    {SY_ROLE_DRAM_READ, 0, 64,
     "unc_arb_trk_requests.data_read unc_arb_trk_requests.drd_direct unc_qmc_normal_reads.any "
     "unc_h_requests.reads unc_cha_requests.reads hnf_mc_reqs arm_cmn_hnf_mc_reqs imx*_ddr.read"},
    {SY_ROLE_DRAM_WRITE, 0, 64,
     "unc_m_cas_count.wr umc_cas_cmd.wr unc_m_cas_count_wr llc_misses.mem_write "
     "unc_mc_cas_count.wr op_is_wr"},
    {SY_ROLE_DRAM_WRITE, 1, 64, "unc_m_cas_count_sch*.wr"},
    {SY_ROLE_DRAM_WRITE, 2, 64, "unc_mc*_wrcas_count_freerun"},
    {SY_ROLE_DRAM_WRITE, 3, 128, "*pm_mcs*128b_wr_d*"},
    {SY_ROLE_DRAM_WRITE, 3, 64, "*pm_mcs*64b_wr_d*"},
    {SY_ROLE_DRAM_WRITE, 4, 64, "local_processor_write_data_beats_cs*"},
    {SY_ROLE_DRAM_WRITE, 0, 32, "flux_wr"},
    {SY_ROLE_DRAM_WRITE, 0, 64,
     "unc_arb_trk_requests.writes unc_qmc_writes.full.any unc_h_requests.writes "
     "unc_cha_requests.writes imx*_ddr.write"},
    {SY_ROLE_DRAM_TOTAL, 0, 64, "unc_m_cas_count.all umc_cas_cmd.all op_is_rd_or_wr"},
    {SY_ROLE_DRAM_TOTAL, 1, 64, "unc_m_cas_count_sch*.all"},
    {SY_ROLE_DRAM_TOTAL, 2, 64, "dram_channel_data_controller_*"},
    {SY_ROLE_DRAM_TOTAL, 0, 1, "dram_bytes dram_total"},
    {SY_ROLE_XSOCKET, 0, 7.1111111111111107, "unc_upi_txl_flits.all_data"},
    {SY_ROLE_XSOCKET, 0, 8, "unc_q_txl_flits_g0.data unc_q_txl_flits_g1.drs_data"},
    {SY_ROLE_XSOCKET, 1, 64, "local_socket_outbound_data_beats_link*"},
    {SY_ROLE_XSOCKET, 2, 32, "remote_outbound_data_controller_*"},
    {SY_ROLE_XSOCKET, 3, 32, "*pm_xlink*_out_odd_data* *pm_xlink*_out_even_data*"},
    {SY_ROLE_XSOCKET, 0, 64, "rx_outer"},
    {SY_ROLE_PCIE_READ, 0, 4, "unc_iio_data_req_of_cpu.mem_read.all_parts"},
    {SY_ROLE_PCIE_READ, 0, 64, "unc_cha_tor_inserts.io_pcirdcur"},
    {SY_ROLE_PCIE_READ, 1, 4, "unc_iio_data_req_of_cpu.mem_read.part*"},
    {SY_ROLE_PCIE_READ, 2, 64, "local_socket_upstream_read_beats_iom*"},
    {SY_ROLE_PCIE_READ, 0, 4, "llc_misses.pcie_read"},
    {SY_ROLE_PCIE_READ, 0, 64, "llc_references.pcie_read bus_read_total_pci"},
    {SY_ROLE_PCIE_WRITE, 0, 4, "unc_iio_data_req_of_cpu.mem_write.all_parts"},
    {SY_ROLE_PCIE_WRITE, 0, 64, "unc_cha_tor_inserts.io_itom"},
    {SY_ROLE_PCIE_WRITE, 1, 4, "unc_iio_data_req_of_cpu.mem_write.part*"},
    {SY_ROLE_PCIE_WRITE, 2, 64, "local_socket_upstream_write_beats_iom*"},
    {SY_ROLE_PCIE_WRITE, 0, 4, "llc_misses.pcie_write"},
    {SY_ROLE_PCIE_WRITE, 0, 64, "llc_references.pcie_write bus_write_total_pci"},
    {SY_ROLE_UNCORE_CLOCK, 0, 1,
     "unc_cha_clockticks unc_chacms_clockticks unc_c_clockticks unc_m_clockticks umc_mem_clk "
     "unc_clock.socket dtc_cycles arm_cmn_*cycles ddr_cycles unc_m_dclockticks *pm_pb_cyc* "
     "imx*_ddr.cycles cpa_cycles"},
    {SY_ROLE_MBM_TOTAL, 0, 1, "mbm_total mbm_total_bytes"},
    {SY_ROLE_MBM_LOCAL, 0, 1, "mbm_local mbm_local_bytes"},
    {SY_ROLE_LLC_USED, 0, 1, "llc_occupancy"},
    {SY_ROLE_POWER, 0, 1, "power power_watts power_usage"},
    {SY_ROLE_ENERGY, 0, 1, "energy energy_package energy-pkg package_energy energy_pkg package"},
    {SY_ROLE_DRAM_POWER, 0, 1, "energy-ram energy_dram dram_energy dram_power dram"},
    {SY_ROLE_GPU_BUSY, 0, 1, "gpu_util utilization utilisation gpu_utilisation gpu_busy util busy"},
    {SY_ROLE_SM_ACTIVE, 0, 1, "sm_util sm_active gpm_sm_util sm graphics_util"},
    {SY_ROLE_SM_OCCUPANCY, 0, 1, "sm_occupancy gpm_sm_occupancy"},
    {SY_ROLE_TENSOR_ACTIVE, 0, 1,
     "tensor_util any_tensor_util gpm_tensor_util tensor tensor_active"},
    {SY_ROLE_GPU_DRAM, 0, 1,
     "dram_util gpm_dram_util dram_bw_util memory_util mem_util memory_utilisation gpu_dram"},
    {SY_ROLE_GPU_PCIE_RX, 0, 1, "pcie_rx pcie_rx_bytes gpm_pcie_rx gpu_pcie_rx"},
    {SY_ROLE_GPU_PCIE_TX, 0, 1, "pcie_tx pcie_tx_bytes gpm_pcie_tx gpu_pcie_tx"},
    {SY_ROLE_GPU_MEMORY, 0, 1, "memory_used memory_share mem_used gpu_memory"},
    {SY_ROLE_BOARD_BUSY, 0, 1, "board_busy busy region_busy"},
    {SY_ROLE_PSI_CPU, 0, 1, "cpu.some psi.cpu.some psi_cpu_some cpu_some"},
    {SY_ROLE_PSI_MEMORY, 0, 1, "memory.some psi.memory.some psi_memory_some memory_some"},
    {SY_ROLE_PSI_MEMORY_FULL, 0, 1, "memory.full psi.memory.full psi_memory_full memory_full"},
    {SY_ROLE_PSI_IO, 0, 1, "io.some psi.io.some psi_io_some io_some"},
    {SY_ROLE_PSI_IO_FULL, 0, 1, "io.full psi.io.full psi_io_full io_full"},
    {SY_ROLE_MEMORY_USED, 0, 1, "memory_used mem_used memory.used"},
};

const struct sy_role_row *sy_role_rows(uint32_t *ret_count) {
    *ret_count = SY_COUNT(rows);
    return rows;
}

bool sy_role_matches(const char *pattern, size_t length, const char *name) {
    size_t p = 0, n = 0, star = SIZE_MAX, back = 0;
    while (name[n]) {
        if (p < length && pattern[p] == '*') {
            star = p++;
            back = n;
        } else if (p < length &&
                   tolower((unsigned char)pattern[p]) == tolower((unsigned char)name[n])) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++back;
        } else {
            return false;
        }
    }
    while (p < length && pattern[p] == '*') {
        p++;
    }
    return p == length;
}

enum sy_role_place sy_place_of_scope(enum sy_scope scope) {
    switch (scope) {
    case SY_SCOPE_CORE:
    case SY_SCOPE_CPU:
        return SY_AT_CORE;
    case SY_SCOPE_PACKAGE:
        return SY_AT_PACKAGE;
    case SY_SCOPE_GPU:
        return SY_AT_GPU;
    case SY_SCOPE_BOARD:
        return SY_AT_BOARD;
    case SY_SCOPE_MACHINE:
    case SY_SCOPE_GROUP:
    case SY_SCOPE_KERNEL:
        break;
    }
    return SY_AT_MACHINE;
}

bool sy_unit_is_core(const char *unit) {
    return unit[0] == '\0' || strncmp(unit, "cpu", 3) == 0 ||
           strncmp(unit, "default_core", 12) == 0 || strncmp(unit, "armv8", 5) == 0 ||
           strcmp(unit, "core") == 0;
}
