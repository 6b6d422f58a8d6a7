/* What the load generator and the bare responder share: time, big-endian
 * integers, sockets, and reading a few members out of a JSON header.
 *
 * A frame is: int32 length (of all that follows), uint32 header word (top byte
 * 0 = JSON, 1 = binary, low 24 bits = header length), header, body. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* RocketMQ's own limit for one frame; nothing here holds more than this per peer. */
#define MAX_FRAME (16u << 20)
#define FRAME_HEAD 8u

struct frame {
    const char *header;
    uint32_t header_len;
    uint32_t type; /* of the header: 0 = JSON, 1 = binary */
    const char *body;
    uint32_t body_len;
    size_t total; /* bytes of the whole frame */
};

static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint32_t get32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return ntohl(v);
}

static inline void put32(char *p, uint32_t v)
{
    v = htonl(v);
    memcpy(p, &v, 4);
}

/* 1: a whole frame was read; 0: more bytes are needed; -1: broken. */
static inline int read_frame(const char *bytes, size_t available, struct frame *out)
{
    if (available < FRAME_HEAD)
        return 0;
    uint32_t length = get32(bytes), word = get32(bytes + 4);
    uint32_t header_len = word & 0xffffff;
    if (length < 4 || length > MAX_FRAME - 4 || header_len > length - 4 || word >> 24 > 1)
        return -1;
    if (word >> 24 == 1 && header_len < 9) /* code, language, version, opaque */
        return -1;
    if (available < 4 + (size_t)length)
        return 0;
    out->header = bytes + FRAME_HEAD;
    out->header_len = header_len;
    out->type = word >> 24;
    out->body = out->header + header_len;
    out->body_len = length - 4 - header_len;
    out->total = 4 + (size_t)length;
    return 1;
}

/* The number after `key` (given with quotes and colon) in a header, or `otherwise`. */
static inline long header_number(const struct frame *f, const char *key, size_t key_len, long otherwise)
{
    const char *end = f->header + f->header_len;
    const char *p = memmem(f->header, f->header_len, key, key_len);
    if (!p)
        return otherwise;
    p += key_len;
    int negative = p < end && *p == '-';
    long value = 0;
    for (p += negative; p < end && *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (*p - '0');
    return negative ? -value : value;
}
#define HEADER_NUMBER(frame, key, otherwise) header_number(frame, key, sizeof(key) - 1, otherwise)

static inline struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static inline void prepare_socket(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        fail("fcntl");
}

static inline int connect_loopback(int port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        fail("socket");
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        fail("connect");
    prepare_socket(fd);
    return fd;
}

/* Ask for as many descriptors as this process may have: 1,024 is the usual soft limit. */
static inline void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static inline void *must(void *memory)
{
    if (!memory)
        fail("memory");
    return memory;
}

#endif
