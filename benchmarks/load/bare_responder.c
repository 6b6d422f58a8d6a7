/* The least a name server could do, in C: one thread, epoll, one hash look-up from
 * topic to a ready body. Anything but a look-up is answered with an empty success.
 *
 *   bare_responder PORT ROUTES      ROUTES: lines of "<topic> <body>" */
#include "wire.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define READ_BYTES (64u << 10)

struct route {
    const char *topic, *body;
    uint32_t topic_len, body_len;
};

struct peer {
    int fd, wants_out;
    char *in, *out;
    size_t in_len, in_size, out_len, out_size;
};

static struct route *table;
static uint32_t mask;
static int poller;

static uint32_t hash(const char *text, uint32_t n)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* The slot of a topic: its route, or the free slot where it would be. */
static struct route *find(const char *topic, uint32_t n)
{
    for (uint32_t i = hash(topic, n);; i++) {
        struct route *r = &table[i & mask];
        if (!r->topic || (r->topic_len == n && !memcmp(r->topic, topic, n)))
            return r;
    }
}

static void load(const char *path)
{
    struct stat st;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &st) < 0)
        fail(path);
    const char *p = mmap(0, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (p == MAP_FAILED)
        fail("mmap");
    const char *end = p + st.st_size;
    uint32_t lines = 0;
    for (const char *q = p; q < end; q++)
        lines += *q == '\n';
    for (mask = 1; mask < 2 * lines; mask *= 2)
        ;
    table = must(calloc(mask--, sizeof *table));
    for (const char *line_end; p < end; p = line_end + 1) {
        line_end = must(memchr(p, '\n', (size_t)(end - p)));
        const char *space = must(memchr(p, ' ', (size_t)(line_end - p)));
        *find(p, (uint32_t)(space - p)) =
            (struct route){p, space + 1, (uint32_t)(space - p), (uint32_t)(line_end - space - 1)};
    }
}

static void reserve(char **buffer, size_t *size, size_t wanted)
{
    if (*size >= wanted)
        return;
    while (*size < wanted)
        *size = *size ? 2 * *size : READ_BYTES;
    *buffer = must(realloc(*buffer, *size));
}

static void answer(struct peer *p, const struct frame *f)
{
    static const char key[] = "\"topic\":\"";
    struct route *route = 0;
    if (HEADER_NUMBER(f, "\"code\":", 0) == 105) {
        const char *topic = memmem(f->header, f->header_len, key, sizeof key - 1);
        if (topic) {
            topic += sizeof key - 1;
            const char *quote = memchr(topic, '"', (size_t)(f->header + f->header_len - topic));
            if (quote)
                route = find(topic, (uint32_t)(quote - topic));
        }
    }
    uint32_t body_len = route && route->topic ? route->body_len : 0;
    reserve(&p->out, &p->out_size, p->out_len + 256 + body_len);
    char *out = p->out + p->out_len;
    int n = snprintf(out + FRAME_HEAD, 200,
                     "{\"code\":0,\"flag\":1,\"language\":\"JAVA\",\"opaque\":%ld,"
                     "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}",
                     HEADER_NUMBER(f, "\"opaque\":", 0));
    put32(out, (uint32_t)n + 4 + body_len);
    put32(out + 4, (uint32_t)n);
    if (body_len)
        memcpy(out + FRAME_HEAD + n, route->body, body_len);
    p->out_len += FRAME_HEAD + (size_t)n + body_len;
}

static void drop(struct peer *p)
{
    close(p->fd);
    free(p->in);
    free(p->out);
    free(p);
}

/* 0 when the peer is gone. */
static int flush(struct peer *p)
{
    size_t done = 0;
    while (done < p->out_len) {
        ssize_t n = send(p->fd, p->out + done, p->out_len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            drop(p);
            return 0;
        }
        done += (size_t)n;
    }
    memmove(p->out, p->out + done, p->out_len - done);
    p->out_len -= done;
    if (p->wants_out != (p->out_len > 0)) {
        p->wants_out = p->out_len > 0;
        struct epoll_event e = {.events = EPOLLIN | (p->wants_out ? EPOLLOUT : 0), .data.ptr = p};
        epoll_ctl(poller, EPOLL_CTL_MOD, p->fd, &e);
    }
    return 1;
}

static void serve(struct peer *p)
{
    reserve(&p->in, &p->in_size, p->in_len + READ_BYTES);
    ssize_t n = recv(p->fd, p->in + p->in_len, p->in_size - p->in_len, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        drop(p);
        return;
    }
    p->in_len += (size_t)n;
    struct frame f;
    size_t at = 0;
    int state;
    while ((state = read_frame(p->in + at, p->in_len - at, &f)) == 1) {
        answer(p, &f);
        at += f.total;
    }
    if (state < 0) {
        drop(p);
        return;
    }
    memmove(p->in, p->in + at, p->in_len - at);
    p->in_len -= at;
    flush(p);
}

static void accept_all(int listener)
{
    for (int fd; (fd = accept(listener, 0, 0)) >= 0;) {
        struct peer *p = must(calloc(1, sizeof *p));
        p->fd = fd;
        prepare_socket(fd);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static int listen_on(int port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0)
        fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 1024) < 0)
        fail("listen");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: bare_responder PORT ROUTES\n", stderr);
        return 2;
    }
    raise_descriptor_limit();
    load(argv[2]);
    poller = epoll_create1(0);
    int listener = listen_on(atoi(argv[1]));
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = 0}, events[256];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        int n = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < n; i++) {
            struct peer *p = events[i].data.ptr;
            if (!p)
                accept_all(listener);
            else if (!(events[i].events & EPOLLOUT) || flush(p))
                serve(p);
        }
    }
}
