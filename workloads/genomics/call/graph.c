/* SPDX-License-Identifier: Apache-2.0
 *
 * A node is k bases, known by a rolling hash and compared in full; an edge has the number of reads
 * that took it. Edges taken too seldom go, then what is not between the window's two ends. What
 * remains must have no cycle. Paths are taken best first; a stretch without branches is one step.
 * Tables are of fixed size: a region with more k-mers than fit is called from those that came
 * first.
 */
#include "genomics/call/graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_MAX = 16384,
    SLOT_COUNT = 4 * NODE_MAX,
    STEP_MAX = 8192,
    NONE = -1,
    QUALITY_MIN = 10, /* bases below end a k-mer */
};
static const uint32_t sizes[] = {25, 35, 45, 60, 80};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

struct node {
    const uint8_t *bases;
    uint64_t hash;
    int32_t next[4];
    uint32_t weight[4];
    uint8_t reference[4]; /* the reference takes this edge */
    uint8_t from_end;     /* the last node can be reached */
    uint8_t kept;         /* and it can be reached from the first */
    uint8_t colour;       /* 0 not seen, 1 on the way, 2 done */
    uint8_t branch;       /* next edge to look at */
};

struct step { /* a path up to a branch */
    int32_t node, parent;
    uint32_t length;
    uint8_t base; /* taken from the parent's branch */
    double weight;
};

struct gn_graph {
    struct node nodes[NODE_MAX];
    int32_t slots[SLOT_COUNT];
    int32_t queue[NODE_MAX];
    int32_t first_back[NODE_MAX]; /* list of edges into a node */
    int32_t next_back[4 * NODE_MAX];
    int32_t from_back[4 * NODE_MAX];
    struct step steps[STEP_MAX];
    int32_t heap[STEP_MAX];
    int32_t node_count, back_count, step_count, heap_count;
    uint32_t k, slot_mask;
    uint64_t leaving; /* multiplier's k-th power */
};

int gn_graph_create(struct gn_graph **ret_graph) {
    struct gn_graph *graph = malloc(sizeof(*graph));
    if (!graph) {
        return -ENOMEM;
    }
    *ret_graph = graph;
    return 0;
}

void gn_graph_free(struct gn_graph *graph) {
    free(graph);
}

/* --- nodes and edges ----------------------------------------------------------------------------
 */
#define MULTIPLIER 0x9E3779B97F4A7C15u

static int32_t find_node(struct gn_graph *graph, uint64_t hash, const uint8_t *bases) {
    uint64_t at = (hash ^ (hash >> 31)) * 0xBF58476D1CE4E5B9u;
    at = (at >> 20) & graph->slot_mask;
    for (; graph->slots[at] != NONE; at = (at + 1) & graph->slot_mask) {
        const struct node *node = &graph->nodes[graph->slots[at]];
        if (node->hash == hash && memcmp(node->bases, bases, graph->k) == 0) {
            return graph->slots[at];
        }
    }
    if (graph->node_count == NODE_MAX) {
        return NONE;
    }
    struct node *node = &graph->nodes[graph->node_count];
    *node = (struct node){.bases = bases, .hash = hash, .next = {NONE, NONE, NONE, NONE}};
    graph->slots[at] = graph->node_count;
    return graph->node_count++;
}

static void add_strand(struct gn_graph *graph, struct gn_strand strand) {
    uint32_t k = graph->k, run = 0;
    uint64_t hash = 0;
    int32_t before = NONE;
    for (uint32_t i = 0; i < strand.length; i++) {
        uint8_t base = strand.bases[i];
        if (base > 3 || (strand.qualities && strand.qualities[i] < QUALITY_MIN)) {
            run = 0;
            hash = 0;
            before = NONE;
            continue;
        }
        hash = hash * MULTIPLIER + base + 1;
        if (++run < k) {
            continue;
        }
        if (run > k) {
            hash -= graph->leaving * (uint64_t)(strand.bases[i - k] + 1);
        }
        int32_t node = find_node(graph, hash, strand.bases + i + 1 - k);
        if (before != NONE && node != NONE) {
            graph->nodes[before].next[base] = node;
            graph->nodes[before].weight[base]++;
            graph->nodes[before].reference[base] |= strand.qualities == NULL;
        }
        before = node;
    }
}

static void start(struct gn_graph *graph, uint32_t k, uint64_t base_count) {
    uint64_t slots = 256;
    while (slots < 2 * base_count && slots < SLOT_COUNT) {
        slots *= 2;
    }
    graph->k = k;
    graph->node_count = 0;
    graph->slot_mask = (uint32_t)(slots - 1);
    graph->leaving = 1;
    for (uint32_t i = 0; i < k; i++) {
        graph->leaving *= MULTIPLIER;
    }
    memset(graph->slots, 0xff, slots * sizeof(graph->slots[0]));
}

/* --- pruning ------------------------------------------------------------------------------------
 */
static void prune(struct gn_graph *graph, uint32_t weight_min) {
    graph->back_count = 0;
    for (int32_t i = 0; i < graph->node_count; i++) {
        graph->first_back[i] = NONE;
    }
    for (int32_t i = 0; i < graph->node_count; i++) {
        struct node *node = &graph->nodes[i];
        for (uint32_t base = 0; base < 4; base++) {
            int32_t next = node->next[base];
            if (next == NONE) {
                continue;
            }
            if (!node->reference[base] && node->weight[base] < weight_min) {
                node->next[base] = NONE;
                continue;
            }
            graph->from_back[graph->back_count] = i;
            graph->next_back[graph->back_count] = graph->first_back[next];
            graph->first_back[next] = graph->back_count++;
        }
    }
}

/* Keeps what lies on a way from first to last. */
static void connect(struct gn_graph *graph, int32_t first, int32_t last) {
    int32_t head = 0, tail = 0;
    graph->queue[tail++] = last;
    graph->nodes[last].from_end = 1;
    while (head < tail) {
        int32_t node = graph->queue[head++];
        for (int32_t e = graph->first_back[node]; e != NONE; e = graph->next_back[e]) {
            int32_t from = graph->from_back[e];
            if (!graph->nodes[from].from_end) {
                graph->nodes[from].from_end = 1;
                graph->queue[tail++] = from;
            }
        }
    }
    head = tail = 0;
    graph->queue[tail++] = first;
    graph->nodes[first].kept = 1;
    while (head < tail) {
        struct node *node = &graph->nodes[graph->queue[head++]];
        for (uint32_t base = 0; base < 4; base++) {
            int32_t next = node->next[base];
            if (next == NONE || !graph->nodes[next].from_end) {
                node->next[base] = NONE;
            } else if (!graph->nodes[next].kept) {
                graph->nodes[next].kept = 1;
                graph->queue[tail++] = next;
            }
        }
    }
}

static bool has_cycle(struct gn_graph *graph, int32_t first) {
    int32_t depth = 0, *stack = graph->queue;
    stack[0] = first;
    graph->nodes[first].colour = 1;
    while (depth >= 0) {
        struct node *node = &graph->nodes[stack[depth]];
        if (node->branch == 4) {
            node->colour = 2;
            depth--;
            continue;
        }
        int32_t next = node->next[node->branch++];
        if (next == NONE || graph->nodes[next].colour == 2) {
            continue;
        }
        if (graph->nodes[next].colour == 1) {
            return true;
        }
        graph->nodes[next].colour = 1;
        stack[++depth] = next;
    }
    return false;
}

/* --- paths, best first --------------------------------------------------------------------------
 */
/* Heavier first; of equal ones the older. */
static bool better(const struct gn_graph *graph, int32_t a, int32_t b) {
    double x = graph->steps[a].weight, y = graph->steps[b].weight;
    return x > y || (!(x < y) && a < b);
}

static void push(struct gn_graph *graph, struct step step) {
    if (graph->step_count == STEP_MAX) {
        return;
    }
    int32_t *heap = graph->heap, at = graph->heap_count++;
    graph->steps[graph->step_count] = step;
    heap[at] = graph->step_count++;
    while (at > 0 && better(graph, heap[at], heap[(at - 1) / 2])) {
        int32_t up = (at - 1) / 2, other = heap[up];
        heap[up] = heap[at];
        heap[at] = other;
        at = up;
    }
}

static int32_t pop(struct gn_graph *graph) {
    int32_t *heap = graph->heap, top = heap[0], at = 0;
    heap[0] = heap[--graph->heap_count];
    for (;;) {
        int32_t best = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < graph->heap_count && better(graph, heap[child], heap[best])) {
                best = child;
            }
        }
        if (best == at) {
            return top;
        }
        int32_t other = heap[best];
        heap[best] = heap[at];
        heap[at] = other;
        at = best;
    }
}

/* Walks from node to the next branch or the end; writes the bases on the way, at most room. */
static int32_t walk(const struct gn_graph *graph, int32_t node, int32_t last, uint8_t *bases,
                    uint32_t room, uint32_t *length) {
    while (node != last) {
        const struct node *here = &graph->nodes[node];
        uint32_t ways = 0, way = 0;
        for (uint32_t base = 0; base < 4; base++) {
            if (here->next[base] != NONE) {
                way = base;
                ways++;
            }
        }
        if (ways != 1 || *length == room) {
            break;
        }
        if (bases) {
            bases[*length] = (uint8_t)way;
        }
        (*length)++;
        node = here->next[way];
    }
    return node;
}

static void branch(struct gn_graph *graph, int32_t at) {
    const struct step step = graph->steps[at];
    const struct node *node = &graph->nodes[step.node];
    double total = 0;
    for (uint32_t base = 0; base < 4; base++) {
        total += node->next[base] != NONE ? (double)node->weight[base] + 0.1 : 0;
    }
    for (uint32_t base = 0; base < 4; base++) {
        if (node->next[base] != NONE) {
            push(graph,
                 (struct step){.node = node->next[base],
                               .parent = at,
                               .length = step.length + 1,
                               .base = (uint8_t)base,
                               .weight = step.weight + log((node->weight[base] + 0.1) / total)});
        }
    }
}

/* Bases of the path that ends with step. A step's own stretch follows its base. */
static uint32_t spell(const struct gn_graph *graph, int32_t first, int32_t last, int32_t step,
                      uint8_t *bases) {
    int32_t chain[GN_PATH_MAX], depth = 0;
    for (int32_t at = step; at != NONE && depth < GN_PATH_MAX; at = graph->steps[at].parent) {
        chain[depth++] = at;
    }
    uint32_t length = graph->k;
    memcpy(bases, graph->nodes[first].bases, graph->k);
    while (depth > 0) {
        const struct step *here = &graph->steps[chain[--depth]];
        int32_t node = first;
        if (here->parent != NONE) {
            bases[length++] = here->base;
            node = graph->nodes[graph->steps[here->parent].node].next[here->base];
        }
        walk(graph, node, last, bases, GN_PATH_MAX, &length);
    }
    return length;
}

void gn_haplotypes_add(struct gn_haplotypes *haplotypes, const uint8_t *bases, uint32_t length,
                       uint32_t cap) {
    if (haplotypes->count >= cap || length > GN_PATH_MAX) {
        return;
    }
    for (uint32_t i = 0; i < haplotypes->count; i++) {
        if (haplotypes->lengths[i] == length && memcmp(haplotypes->bases[i], bases, length) == 0) {
            return;
        }
    }
    memcpy(haplotypes->bases[haplotypes->count], bases, length);
    haplotypes->lengths[haplotypes->count++] = length;
}

static void best_paths(struct gn_graph *graph, int32_t last, uint32_t longest, uint32_t cap,
                       struct gn_haplotypes *haplotypes) {
    uint8_t bases[GN_PATH_MAX];
    graph->step_count = graph->heap_count = 0;
    push(graph, (struct step){.node = 0, .parent = NONE, .length = graph->k});
    while (graph->heap_count > 0 && haplotypes->count < cap) {
        int32_t at = pop(graph);
        struct step *step = &graph->steps[at];
        uint32_t length = step->length;
        step->node = walk(graph, step->node, last, NULL, longest, &length);
        step->length = length;
        if (step->node == last) {
            length = spell(graph, 0, last, at, bases);
            gn_haplotypes_add(haplotypes, bases, length, cap);
        } else if (length + 1 < longest) {
            branch(graph, at);
        }
    }
}

bool gn_graph_paths(struct gn_graph *graph, struct gn_strand reference,
                    const struct gn_strand *reads, uint32_t read_count, uint32_t cap,
                    struct gn_haplotypes *haplotypes) {
    uint64_t base_count = reference.length;
    uint32_t weight_min = 2u + (read_count > 60) + (read_count > 120) + read_count / 250;
    for (uint32_t i = 0; i < read_count; i++) {
        base_count += reads[i].length;
    }
    haplotypes->count = 0;
    gn_haplotypes_add(haplotypes, reference.bases, reference.length, cap);
    for (uint32_t size = 0; size < SIZE_COUNT && sizes[size] + 20 <= reference.length; size++) {
        start(graph, sizes[size], base_count);
        add_strand(graph, reference);
        if (graph->node_count != (int32_t)(reference.length - sizes[size] + 1)) {
            continue; /* the reference itself repeats */
        }
        int32_t last = graph->node_count - 1;
        for (uint32_t i = 0; i < read_count; i++) {
            add_strand(graph, reads[i]);
        }
        prune(graph, weight_min);
        for (uint32_t base = 0; base < 4; base++) {
            graph->nodes[last].next[base] = NONE;
        }
        connect(graph, 0, last);
        if (!has_cycle(graph, 0)) {
            uint32_t longest = reference.length + GN_INSERTED_MAX;
            best_paths(graph, last, longest, cap, haplotypes);
            return true;
        }
    }
    return false;
}
