/* Registrations prepared beforehand: one connection for each frame of a file, all
 * connected first, then all sent at once. Times count from the common start. */
#include "wire.h"
#include "loadgen.h"

#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ANSWER_BYTES (64u << 10)

struct sender {
    int fd;
    const char *frame;
    size_t frame_len, sent, in_len;
    char *in;
    double answered_ms; /* since the common start; HUGE_VAL until then */
};

static int poller, busy, ok, refused, closed_early;
static uint64_t start;

static void watch(struct sender *s, int operation, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = s};
    epoll_ctl(poller, operation, s->fd, &e);
}

/* The server closed, before its answer or after it; both are counted. */
static void give_up_on(struct sender *s)
{
    closed_early++;
    busy -= s->answered_ms == HUGE_VAL;
    close(s->fd);
    s->fd = -1;
}

static void send_some(struct sender *s)
{
    while (s->sent < s->frame_len) {
        ssize_t n = send(s->fd, s->frame + s->sent, s->frame_len - s->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(s, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) {
            give_up_on(s);
            return;
        }
        s->sent += (size_t)n;
    }
    watch(s, EPOLL_CTL_MOD, EPOLLIN);
}

static void take_answer(struct sender *s, const struct frame *f)
{
    s->answered_ms = (double)(now_ns() - start) / 1e6;
    busy--;
    if (HEADER_NUMBER(f, "\"code\":", -1) == 0)
        ok++;
    else if (!refused++)
        fprintf(stderr, "refused: %.*s\n", (int)f->header_len, f->header);
}

static void receive(struct sender *s)
{
    ssize_t n = recv(s->fd, s->in + s->in_len, ANSWER_BYTES - s->in_len, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    struct frame f;
    if (n <= 0 || read_frame(s->in, s->in_len += (size_t)n, &f) < 0)
        give_up_on(s);
    else if (s->answered_ms == HUGE_VAL && read_frame(s->in, s->in_len, &f) == 1)
        take_answer(s, &f);
}

static struct sender *connect_all(const struct options *o, int *count)
{
    struct stat st;
    int file = open(o->frames, O_RDONLY);
    if (file < 0 || fstat(file, &st) < 0)
        fail(o->frames);
    const char *bytes = mmap(0, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (bytes == MAP_FAILED)
        fail("mmap");
    struct sender *all = 0;
    struct frame f;
    for (size_t at = 0; read_frame(bytes + at, (size_t)st.st_size - at, &f) == 1; at += f.total) {
        all = must(realloc(all, (size_t)(*count + 1) * sizeof *all));
        all[(*count)++] = (struct sender){.fd = -1, .frame = bytes + at, .frame_len = f.total, .answered_ms = HUGE_VAL};
    }
    for (int i = 0; i < *count; i++) {
        all[i].fd = connect_loopback(o->port);
        all[i].in = must(malloc(ANSWER_BYTES));
        watch(&all[i], EPOLL_CTL_ADD, 0);
    }
    return all;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct sender *)a)->answered_ms, y = ((const struct sender *)b)->answered_ms;
    return (x > y) - (x < y);
}

/* An answer that never came has no time. */
static void print_time(const char *name, double ms, const char *end)
{
    if (ms == HUGE_VAL)
        printf("\"%s\":null%s", name, end);
    else
        printf("\"%s\":%.3f%s", name, ms, end);
}

static void wait_for_end_of_input(void)
{
    char bytes[256];
    fflush(stdout);
    while (read(0, bytes, sizeof bytes) > 0)
        ;
}

int run_register(const struct options *o)
{
    int count = 0;
    poller = epoll_create1(0);
    struct sender *all = connect_all(o, &count);
    if (!count) {
        fputs("no frames\n", stderr);
        return 1;
    }
    start = now_ns();
    uint64_t give_up = start + (uint64_t)(o->timeout * 1e9);
    busy = count;
    for (int i = 0; i < count; i++)
        send_some(&all[i]);
    while (busy && now_ns() < give_up) {
        struct epoll_event events[256];
        int n = epoll_wait(poller, events, 256, 100);
        for (int i = 0; i < n; i++) {
            struct sender *s = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                send_some(s);
            if (s->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(s);
        }
    }
    qsort(all, (size_t)count, sizeof *all, by_time);
    printf("{\"connections\":%d,\"ok\":%d,\"refused\":%d,\"closed\":%d,\"unanswered\":%d,", count, ok, refused,
           closed_early, busy);
    print_time("first_ms", all[0].answered_ms, ",");
    print_time("median_ms", all[count / 2].answered_ms, ",");
    print_time("last_ms", all[count - 1].answered_ms, "}\n");
    if (o->hold)
        wait_for_end_of_input();
    return 0;
}
