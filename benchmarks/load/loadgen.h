/* The two modes of the load generator. */
#ifndef BENCH_LOADGEN_H
#define BENCH_LOADGEN_H

#include <stdint.h>

enum kind { KIND_SAME, KIND_OTHER, KIND_BINARY, KIND_UNKNOWN, KIND_SIGNED, KIND_FIRST };

struct options {
    int port;
    int connections;      /* lookups: connections */
    int in_flight;        /* lookups, closed loop: requests in flight on each connection */
    double rate;          /* lookups: requests a second over all connections; 0 = closed loop */
    double warmup;        /* lookups: seconds before measuring */
    double seconds;       /* lookups: seconds measured; SIGTERM ends it earlier */
    long requests;        /* lookups: stop measuring after so many answers; 0 = no such limit */
    double timeout;       /* seconds to wait for answers still missing */
    int topics;           /* lookups: topics are <topic_prefix>00000 ... */
    const char *topic_prefix;
    uint32_t body_bytes;  /* lookups: the exact size of a right answer's body */
    enum kind kind;       /* lookups: same (the default), other, binary, unknown, signed or first; see lookups.c */
    const char *signatures; /* lookups, signed: file with a line of 28 characters for each topic */
    const char *frames;   /* register: file of whole frames; one connection for each */
    int hold;             /* register: keep the connections open until stdin ends */
};

int run_lookups(const struct options *o);
int run_register(const struct options *o);

#endif
