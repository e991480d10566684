/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipelines as text (symph-pipeline-1), and the examples in them as numbers.
 *
 * A block of a transformer, without normalisation: attention in a window, a projection, and two
 * layers with GELU between them; what went in is added to the result of each half. "fused" never
 * stores scores, and so has other data between fewer kernels.
 */
#include "attention/attention.h"

/*    name, length, window, batch, model, heads, ffn, about */
#define FIRST_EXAMPLE(E) E("tiny", 64, 16, 2, 32, 4, 64, "a test of an instant")
#define OTHER_EXAMPLES(E)                                                                          \
    E("tiny-odd", 50, 8, 3, 36, 3, 40, "sizes that fit no vector")                                 \
    E("tiny-wide", 96, 128, 1, 48, 2, 96, "a window beyond the sequence")                          \
    E("small", 512, 64, 1, 128, 4, 512, "a short text, a small model")                             \
    E("short-64", 1024, 64, 8, 512, 8, 2048, "many short texts, a narrow window")                  \
    E("short-256", 1024, 256, 8, 512, 8, 2048, "many short texts")                                 \
    E("mid-128", 2048, 128, 4, 1024, 16, 4096, "a larger model, a narrow window")                  \
    E("mid-512", 2048, 512, 4, 512, 8, 2048, "a wide window")                                      \
    E("longformer", 4096, 512, 1, 768, 12, 3072, "the sizes of Longformer base")                   \
    E("long-256", 8192, 256, 1, 512, 8, 2048, "one long text")                                     \
    E("long-1024", 8192, 1024, 1, 1024, 16, 4096, "one long text, a large model, a wide window")   \
    E("book-64", 16384, 64, 1, 512, 8, 2048, "a very long text, a narrow window")                  \
    E("book-512", 16384, 512, 1, 1024, 16, 4096, "a very long text, a large model")                \
    E("book-1024", 16384, 1024, 1, 512, 8, 2048, "a very long text, a wide window")

#define NUMBERS(name, length, window, batch, model, heads, ffn, about)                             \
    {name, {length, window, batch, model, heads, ffn}},
const struct attn_example attn_examples[] = {FIRST_EXAMPLE(NUMBERS) OTHER_EXAMPLES(NUMBERS)};
const uint32_t attn_example_count = GUEST_COUNT(attn_examples);

#define NAME(name, ...) name " "
const char attn_example_names[] = OTHER_EXAMPLES(NAME) FIRST_EXAMPLE(NAME);

#define WORDS(name, length, window, batch, model, heads, ffn, about)                               \
    "{\"name\":\"" name "\",\"about\":\"" about "\",\"values\":{\"length\":" #length               \
    ",\"window\":" #window ",\"batch\":" #batch ",\"model\":" #model ",\"heads\":" #heads          \
    ",\"ffn\":" #ffn "}}\n"
#define MORE_WORDS(...) "," WORDS(__VA_ARGS__)

/* What stands between the brackets, as text. */
#define JSON(...) #__VA_ARGS__ "\n"
/* clang-format off */
#define FEATURES JSON(                                                                             \
    "features": [                                                                                  \
      {"name": "length", "about": "tokens of a sequence", "low": 1, "high": 1048576},              \
      {"name": "window", "about": "tokens around one that it looks at, even", "low": 2,            \
       "high": 65536},                                                                             \
      {"name": "batch", "about": "sequences", "low": 1, "high": 4096, "usual": 1},                 \
      {"name": "model", "about": "floats of a token, a multiple of heads", "low": 1,               \
       "high": 65536},                                                                             \
      {"name": "heads", "about": "heads of attention", "low": 1, "high": 1024},                    \
      {"name": "ffn", "about": "floats of a token between the last two layers", "low": 1,          \
       "high": 262144}],)
#define DATA JSON(                                                                                 \
      {"name": "x", "role": "input", "bytes": "4*batch*length*model"},                             \
      {"name": "w_qkv", "role": "constant", "bytes": "12*model*model"},                            \
      {"name": "w_out", "role": "constant", "bytes": "4*model*model"},                             \
      {"name": "w_up", "role": "constant", "bytes": "4*model*ffn"},                                \
      {"name": "w_down", "role": "constant", "bytes": "4*ffn*model"},                              \
      {"name": "y", "role": "output", "bytes": "4*batch*length*model"},                            \
      {"name": "qkv", "role": "between", "bytes": "12*batch*length*model"},                        \
      {"name": "mixed", "role": "between", "bytes": "4*batch*length*model"},                       \
      {"name": "attended", "role": "between", "bytes": "4*batch*length*model"},                    \
      {"name": "up", "role": "between", "bytes": "4*batch*length*ffn"})
#define SCORE_DATA JSON(                                                                           \
      {"name": "scores", "role": "between", "bytes": "4*batch*length*heads*(window+1)"},           \
      {"name": "probabilities", "role": "between", "bytes": "4*batch*length*heads*(window+1)"})
#define QKV JSON(                                                                                  \
      {"name": "qkv", "kernel": "gnn:sgemm", "reads": ["x", "w_qkv"], "writes": ["qkv"],            \
       "parameters": ["batch*length", "model", "3*model", "0"], "split": true,                     \
       "cost": {"flops": "6*batch*length*model*model",                                             \
                "bytes": "4*(4*batch*length*model+3*model*model)", "rows": "batch*length",         \
                "inner": "model", "columns": "3*model"}})
#define PARAMETERS "\"parameters\":[\"length\",\"window\",\"batch\",\"model\",\"heads\"],\"split\":true,"
#define BAND JSON(                                                                                 \
      {"name": "scores", "kernel": "window_scores", "reads": ["qkv"], "writes": ["scores"],)       \
    PARAMETERS JSON(                                                                               \
       "cost": {"flops": "2*batch*length*min(window+1,length)*model",                              \
                "bytes": "4*batch*length*(2*model+heads*(window+1))", "rows": "batch*length",      \
                "slots": "window+1"}},                                                             \
      {"name": "softmax", "kernel": "window_softmax", "reads": ["scores"],                         \
       "writes": ["probabilities"],)                                                               \
    PARAMETERS JSON(                                                                               \
       "cost": {"flops": "16*batch*length*heads*(window+1)",                                       \
                "bytes": "8*batch*length*heads*(window+1)", "rows": "batch*length",                \
                "slots": "window+1"}},                                                             \
      {"name": "mix", "kernel": "window_mix", "reads": ["probabilities", "qkv"],                   \
       "writes": ["mixed"],)                                                                       \
    PARAMETERS JSON(                                                                               \
       "cost": {"flops": "2*batch*length*min(window+1,length)*model",                              \
                "bytes": "4*batch*length*(2*model+heads*(window+1))", "rows": "batch*length",      \
                "slots": "window+1"}})
#define ATTENTION JSON(                                                                            \
      {"name": "attention", "kernel": "window_attention", "reads": ["qkv"], "writes": ["mixed"],)  \
    PARAMETERS JSON(                                                                               \
       "cost": {"flops": "4*batch*length*min(window+1,length)*(model+4*heads)",                    \
                "bytes": "16*batch*length*model", "rows": "batch*length", "slots": "window+1"}})
#define REST JSON(                                                                                 \
      {"name": "project", "kernel": "gnn:sgemm_add", "reads": ["mixed", "w_out", "x"],              \
       "writes": ["attended"], "parameters": ["batch*length", "model", "model", "0"],              \
       "split": true,                                                                              \
       "cost": {"flops": "2*batch*length*model*model",                                             \
                "bytes": "4*(3*batch*length*model+model*model)", "rows": "batch*length",           \
                "inner": "model", "columns": "model"}},                                            \
      {"name": "up", "kernel": "gnn:sgemm", "reads": ["attended", "w_up"], "writes": ["up"],        \
       "parameters": ["batch*length", "model", "ffn", "2"], "split": true,                         \
       "cost": {"flops": "2*batch*length*model*ffn",                                               \
                "bytes": "4*(batch*length*(model+ffn)+model*ffn)", "rows": "batch*length",         \
                "inner": "model", "columns": "ffn"}},                                              \
      {"name": "down", "kernel": "gnn:sgemm_add", "reads": ["up", "w_down", "attended"],            \
       "writes": ["y"], "parameters": ["batch*length", "ffn", "model", "0"], "split": true,        \
       "cost": {"flops": "2*batch*length*ffn*model",                                               \
                "bytes": "4*(batch*length*(ffn+2*model)+ffn*model)", "rows": "batch*length",       \
                "inner": "ffn", "columns": "model"}})
/* clang-format on */

#define HEAD(name, about)                                                                          \
    "{\"schema\":\"symph-pipeline-1\",\"name\":\"" name "\",\n\"about\":\"" about "\",\n" FEATURES
#define TAIL "],\n\"examples\":[\n" FIRST_EXAMPLE(WORDS) OTHER_EXAMPLES(MORE_WORDS) "]}\n"

const char attn_block_text[] =
    HEAD("block", "a transformer block with attention in a window") "\"data\":[" DATA "," SCORE_DATA
                                                                    "],\n\"kernels\":[" QKV "," BAND
                                                                    "," REST TAIL;
const char attn_fused_text[] =
    HEAD("fused", "the same block; scores are never stored") "\"data\":[" DATA
                                                             "],\n\"kernels\":[" QKV "," ATTENTION
                                                             "," REST TAIL;
