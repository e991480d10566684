/* SPDX-License-Identifier: Apache-2.0
 *
 * traces: what somebody ran, to train on: records of runs and files of graphs.
 *
 * In: arguments. Out: graphs with their times on one machine, streams, noise as measured. Never
 * knows: what is trained. Invariant: all graphs have times on the machine, or there is one message
 * that names the file.
 */
#ifndef SY_CLI_TRAIN_TRACES_H
#define SY_CLI_TRAIN_TRACES_H

#include "cli/train/methods.h"

struct sy_train_traces;
/* NULL where the arguments name none. Prints what is wrong and returns an exit code. */
int sy_train_traces_open(const struct sy_train_args *args, struct sy_train_traces **ret_traces);
void sy_train_traces_close(struct sy_train_traces *traces);
/* Split; NULL of NULL. */
const struct sy_traced *sy_train_traces(const struct sy_train_traces *traces);
/* How many graphs of how many files are in which half, for people. */
void sy_train_traces_tell(const struct sy_train_traces *traces, struct sy_buffer *buffer);

#endif
