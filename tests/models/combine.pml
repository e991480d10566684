/* SPDX-License-Identifier: Apache-2.0
 *
 * combine.c as a model: hooks leave what happened on a stack and try the lock; whoever has it
 * empties the stack, lets go and looks again. Checked over all interleavings: nothing is left
 * behind once every hook has returned, nothing is told twice, and only one at a time tells.
 *
 *   spin -run combine.pml                 no errors
 *   spin -DFORGETFUL -run combine.pml     without the second look: something is left behind
 */
#define HOOKS 3
#ifndef EVENTS
#define EVENTS 1 /* that each hook leaves */
#endif

byte stacked;    /* events on the stack */
byte told;       /* events that the world knows of */
bool lock, busy; /* the mutex; the hint that it is taken */
byte inside;     /* threads that have the lock */
byte returned;

inline try_lock(got) {
    got = false;
    if
    :: busy
    :: else ->
        atomic {
            if
            :: lock
            :: else -> lock = true; got = true
            fi
        }
        if
        :: got -> busy = true
        :: else
        fi
    fi
}

/* Under the lock: all that is there at once, then it is told. */
inline drain(taken) {
    inside++;
    assert(inside == 1);
    atomic { taken = stacked; stacked = 0 }
    told = told + taken;
    inside--
}

inline unlock() {
    busy = false;
    lock = false
}

inline combine(got, taken) {
    try_lock(got);
    do
    :: got ->
        drain(taken);
        unlock();
#ifdef FORGETFUL
        got = false
#else
        if
        :: stacked > 0 -> try_lock(got)
        :: else -> got = false
        fi
#endif
    :: else -> break
    od
}

active [HOOKS] proctype hook() {
    bool got;
    byte taken, i;
    for (i : 1 .. EVENTS) {
        stacked++;
        combine(got, taken)
    }
    returned++
}

active proctype judge() {
    returned == HOOKS;
    assert(stacked == 0 && told == HOOKS * EVENTS)
}
