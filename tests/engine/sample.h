/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up runs for the tests of the record: legal, and different for every seed.
 */
#ifndef TESTS_ENGINE_SAMPLE_H
#define TESTS_ENGINE_SAMPLE_H

#include "engine/engine.h"

/* A run of the generator's graph on the machine of that line, with whole ns everywhere. */
struct sy_record *sample_record(const char *graph, const char *machine, struct sy_rng *rng);

#endif
