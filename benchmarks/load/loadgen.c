/* Load generator: one thread, epoll, loopback only. Prints one JSON object.
 *
 *   loadgen lookups  --port P --connections 16 --in-flight 1 --seconds 3 ...
 *   loadgen register --port P --frames FILE [--hold] */
#include "wire.h"
#include "loadgen.h"

#include <getopt.h>

static void usage(void)
{
    fputs("usage: loadgen lookups|register --port P [options]; see loadgen.h\n", stderr);
    exit(2);
}

static enum kind kind_named(const char *name)
{
    static const char *const names[] = {"same", "other", "binary", "unknown", "signed", "first"};
    for (int i = 0; i < 6; i++)
        if (!strcmp(name, names[i]))
            return (enum kind)i;
    usage();
    return KIND_SAME;
}

int main(int argc, char **argv)
{
    struct options o = {.connections = 16, .in_flight = 1, .warmup = 0.5, .seconds = 3, .timeout = 30,
                        .topics = 20000, .topic_prefix = "BenchTopic"};
    static const struct option names[] = {
        {"port", required_argument, 0, 'p'},     {"connections", required_argument, 0, 'c'},
        {"in-flight", required_argument, 0, 'i'}, {"rate", required_argument, 0, 'r'},
        {"warmup", required_argument, 0, 'w'},   {"seconds", required_argument, 0, 's'},
        {"requests", required_argument, 0, 'n'}, {"timeout", required_argument, 0, 't'},
        {"topics", required_argument, 0, 'T'},   {"topic-prefix", required_argument, 0, 'P'},
        {"body-bytes", required_argument, 0, 'b'}, {"frames", required_argument, 0, 'f'},
        {"hold", no_argument, 0, 'h'},           {"kind", required_argument, 0, 'k'},
        {"signatures", required_argument, 0, 'S'}, {0, 0, 0, 0},
    };
    if (argc < 2)
        usage();
    const char *mode = argv[1];
    optind = 2;
    for (int c; (c = getopt_long(argc, argv, "", names, 0)) != -1;) {
        switch (c) {
        case 'p': o.port = atoi(optarg); break;
        case 'c': o.connections = atoi(optarg); break;
        case 'i': o.in_flight = atoi(optarg); break;
        case 'r': o.rate = atof(optarg); break;
        case 'w': o.warmup = atof(optarg); break;
        case 's': o.seconds = atof(optarg); break;
        case 'n': o.requests = atol(optarg); break;
        case 't': o.timeout = atof(optarg); break;
        case 'T': o.topics = atoi(optarg); break;
        case 'P': o.topic_prefix = optarg; break;
        case 'b': o.body_bytes = (uint32_t)atol(optarg); break;
        case 'f': o.frames = optarg; break;
        case 'h': o.hold = 1; break;
        case 'S': o.signatures = optarg; break;
        case 'k': o.kind = kind_named(optarg); break;
        default: usage();
        }
    }
    if (o.port <= 0 || o.connections <= 0 || o.in_flight <= 0 || o.topics <= 0 ||
        (o.kind == KIND_SIGNED && !o.signatures))
        usage();
    raise_descriptor_limit();
    if (!strcmp(mode, "lookups"))
        return run_lookups(&o);
    if (!strcmp(mode, "register") && o.frames)
        return run_register(&o);
    usage();
    return 2;
}
