/* SPDX-License-Identifier: Apache-2.0
 *
 * A small pipeline for tests: two layers of a graph network, kernels not in the order in which they
 * run.
 */
#ifndef SY_TESTS_PLANNER_GCN_H
#define SY_TESTS_PLANNER_GCN_H

static const char gcn_text[] =
    "{\"schema\": \"symph-pipeline-1\", \"name\": \"gcn\", \"about\": \"two layers\",\n"
    " \"features\": [\n"
    "  {\"name\": \"nodes\", \"about\": \"vertices\", \"low\": 1, \"high\": 1e9},\n"
    "  {\"name\": \"edges\", \"low\": 1, \"high\": 1e10},\n"
    "  {\"name\": \"width\", \"low\": 1, \"high\": 4096},\n"
    "  {\"name\": \"degree_cv\", \"low\": 0, \"high\": 1e4, \"usual\": 1}],\n"
    " \"data\": [\n"
    "  {\"name\": \"graph\", \"role\": \"input\", \"bytes\": \"4*(nodes+1+2*edges)\"},\n"
    "  {\"name\": \"x\", \"role\": \"input\", \"bytes\": \"4*nodes*width\"},\n"
    "  {\"name\": \"w1\", \"role\": \"constant\", \"bytes\": \"4*width*width\"},\n"
    "  {\"name\": \"h1\", \"role\": \"between\", \"bytes\": \"4*nodes*width\"},\n"
    "  {\"name\": \"h2\", \"role\": \"between\", \"bytes\": \"4*nodes*width\"},\n"
    "  {\"name\": \"out\", \"role\": \"output\", \"bytes\": \"4*nodes*width\"}],\n"
    " \"kernels\": [\n"
    "  {\"name\": \"spmm2\", \"kernel\": \"spmm\", \"reads\": [\"graph\", \"h2\"],"
    " \"writes\": [\"out\"],\n"
    "   \"cost\": {\"spread\": \"1+degree_cv\", \"bytes\": \"4*edges*width\","
    " \"flops\": \"2*edges*width\"}},\n"
    "  {\"name\": \"spmm1\", \"kernel\": \"spmm\", \"reads\": [\"graph\", \"x\"],"
    " \"writes\": [\"h1\"],\n"
    "   \"cost\": {\"flops\": \"2*edges*width\", \"bytes\": \"4*edges*width\","
    " \"spread\": \"1+degree_cv\"}},\n"
    "  {\"name\": \"gemm1\", \"kernel\": \"gnn:gemm\", \"reads\": [\"h1\", \"w1\"],"
    " \"writes\": [\"h2\"],\n"
    "   \"parameters\": [\"nodes\", \"width\", 0, \"min(width,64)\"],\n"
    "   \"cost\": {\"flops\": \"2*nodes*width*width\", \"bytes\": \"8*nodes*width\"},"
    " \"split\": true}],\n"
    " \"examples\": [\n"
    "  {\"name\": \"small\", \"values\": {\"nodes\": 1000, \"edges\": 5000, \"width\": 16}},\n"
    "  {\"name\": \"arxiv\", \"about\": \"papers\", \"values\": {\"nodes\": 169343,"
    " \"edges\": 1166243, \"width\": 128, \"degree_cv\": 5}}]}\n";

#endif
