/* Route look-ups (code 105) of topics, mostly uniformly random, in one of several forms (--kind), each answer verified.
 *
 * Closed loop: every connection keeps --in-flight requests outstanding.
 * Open loop (--rate): requests are due at fixed instants, whatever the server does,
 * and latency counts from the instant a request was due, not from when it was sent. */
#include "wire.h"
#include "loadgen.h"

#include <signal.h>
#include <sys/timerfd.h>

/* Log-linear buckets: 2^7 to each power of two, so a percentile is within 0.8 %. */
#define SUB_BITS 7
#define BUCKETS ((64 - SUB_BITS + 1) << SUB_BITS)
#define OPEN_LOOP_SLOTS 65536u /* 30 s of a stalled server at 2,000/s on one connection */
#define IN_BYTES (256u << 10)
#define SIGNATURE 28u /* characters */

struct slot {
    uint64_t since; /* when the request was sent or due; 0 = free */
    uint32_t opaque;
};

struct connection {
    int fd;
    uint32_t outstanding, opaque;
    struct slot *slots;
    char *in, *out;
    size_t in_len, out_len, out_size;
    int wants_out;
};

static const struct options *opt;
static char *signatures;
static struct connection *connections;
static uint32_t slots_each;
static int poller;
static uint64_t seed = 0x9e3779b97f4a7c15ull;
static uint64_t measure_from, measure_until, last_answer, longest_gap, highest;
static uint64_t buckets[BUCKETS];
static uint64_t answers, answered_total, wrong, overrun;
static int open_connections;
static volatile sig_atomic_t told_to_stop;

static uint32_t bucket_of(uint64_t ns)
{
    if (ns < (1u << SUB_BITS))
        return (uint32_t)ns;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(ns) - SUB_BITS;
    return ((shift + 1) << SUB_BITS) + (uint32_t)((ns >> shift) & ((1u << SUB_BITS) - 1));
}

static uint64_t bucket_top(uint32_t i)
{
    if (i < (1u << SUB_BITS))
        return i;
    uint32_t shift = (i >> SUB_BITS) - 1;
    return (((uint64_t)(i & ((1u << SUB_BITS) - 1)) | (1u << SUB_BITS)) + 1) << shift;
}

static double percentile_us(double share)
{
    uint64_t total = 0, seen = 0;
    for (uint32_t i = 0; i < BUCKETS; i++)
        total += buckets[i];
    uint64_t wanted = (uint64_t)(share * (double)total + 0.999999);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        seen += buckets[i];
        if (seen >= wanted && seen > 0) {
            uint64_t top = bucket_top(i);
            return (double)(top < highest ? top : highest) / 1000.0;
        }
    }
    return 0;
}

/* A base64 of 20 bytes for each topic, each with a line feed. */
static void read_signatures(void)
{
    size_t size = (size_t)opt->topics * (SIGNATURE + 1);
    FILE *file = must(fopen(opt->signatures, "r"));
    signatures = must(malloc(size));
    if (fread(signatures, 1, size, file) != size) {
        fputs("loadgen: too few signatures\n", stderr);
        exit(2);
    }
    fclose(file);
}

/* With --kind first, one after the other. */
static uint32_t next_topic(void)
{
    static uint32_t asked;
    if (opt->kind == KIND_FIRST)
        return asked++ % (uint32_t)opt->topics;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) * (uint64_t)opt->topics >> 32);
}

static inline char *put_text(char *p, const char *text)
{
    size_t n = strlen(text);
    memcpy(p, text, n);
    return p + n;
}

static char *put_decimal(char *p, uint32_t value, int least_digits)
{
    char digits[10];
    int n = 0;
    for (; value || n < least_digits; value /= 10)
        digits[n++] = (char)('0' + value % 10);
    while (n)
        *p++ = digits[--n];
    return p;
}

/* The header of a look-up as the Java client of 5.5.0 writes it. With --kind other, each header has an ext
 * field that no header had before; with --kind first, it has one, too, and topics come in turn; with --kind
 * unknown, no broker has the topic; with --kind signed, it has the signature that --signatures has for its topic. */
static char *put_json_header(char *p, uint32_t opaque)
{
    static uint32_t number;
    p = put_text(p, "{\"code\":105,\"extFields\":{\"topic\":\"");
    p = put_text(p, opt->topic_prefix);
    uint32_t topic = next_topic();
    p = put_decimal(p, topic, 5);
    if (opt->kind == KIND_SIGNED) {
        p = put_text(p, "\",\"AccessKey\":\"bench\",\"Signature\":\"");
        memcpy(p, signatures + (size_t)topic * (SIGNATURE + 1), SIGNATURE);
        p += SIGNATURE;
    }
    if (opt->kind == KIND_UNKNOWN)
        p = put_text(p, "-unknown");
    if (opt->kind == KIND_OTHER || opt->kind == KIND_FIRST) {
        p = put_text(p, "\",\"client\":\"");
        p = put_decimal(p, ++number, 1);
    }
    p = put_text(p, "\"},\"flag\":0,\"language\":\"JAVA\",\"opaque\":");
    p = put_decimal(p, opaque, 1);
    return put_text(p, ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}");
}

/* The same in the binary form: code, language, version, opaque, flag, no remark, one ext field. */
static char *put_binary_header(char *p, uint32_t opaque)
{
    char topic[256], *end = put_decimal(put_text(topic, opt->topic_prefix), next_topic(), 5);
    uint32_t size = (uint32_t)(end - topic);
    memcpy(p, "\x00\x69\x00\x02\x01", 5);
    put32(p + 5, opaque);
    put32(p + 9, 0);
    put32(p + 13, 0);
    put32(p + 17, 2 + 5 + 4 + size);
    memcpy(p + 21, "\x00\x05topic", 7);
    put32(p + 28, size);
    memcpy(p + 32, topic, size);
    return p + 32 + size;
}

/* Append one request to the connection's output. */
static void add_request(struct connection *c, uint64_t since)
{
    struct slot *s;
    if (c->outstanding >= slots_each) {
        overrun++;
        return;
    }
    do
        s = &c->slots[++c->opaque & (slots_each - 1)];
    while (s->since);
    s->since = since;
    s->opaque = c->opaque & 0x7fffffff;
    c->outstanding++;
    if (c->out_size - c->out_len < 512)
        c->out = must(realloc(c->out, c->out_size += 64u << 10));
    char *frame = c->out + c->out_len, *p = frame + FRAME_HEAD;
    int is_binary = opt->kind == KIND_BINARY;
    p = is_binary ? put_binary_header(p, s->opaque) : put_json_header(p, s->opaque);
    uint32_t header_len = (uint32_t)(p - frame) - FRAME_HEAD;
    put32(frame, header_len + 4);
    put32(frame + 4, header_len | (uint32_t)is_binary << 24);
    c->out_len += (size_t)(p - frame);
}

static void drop(struct connection *c)
{
    close(c->fd);
    c->fd = -1;
    open_connections--;
}

static void flush(struct connection *c)
{
    size_t done = 0;
    while (done < c->out_len) {
        ssize_t n = send(c->fd, c->out + done, c->out_len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            drop(c);
            return;
        }
        done += (size_t)n;
    }
    memmove(c->out, c->out + done, c->out_len - done);
    c->out_len -= done;
    if (c->wants_out != (c->out_len > 0)) {
        c->wants_out = c->out_len > 0;
        struct epoll_event e = {.events = EPOLLIN | (c->wants_out ? EPOLLOUT : 0), .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
    }
}

/* A request in the binary form may be answered in either. */
static long answer_opaque(const struct frame *f)
{
    return f->type ? (long)get32(f->header + 5) : HEADER_NUMBER(f, "\"opaque\":", -1);
}

static int is_right(const struct frame *f)
{
    long code = f->type ? (long)(get32(f->header) >> 16) : HEADER_NUMBER(f, "\"code\":", -1);
    if (opt->kind == KIND_UNKNOWN)
        return code == 17 && f->body_len == 0;
    return code == 0 && f->body_len == opt->body_bytes && f->body[0] == '{';
}

static void take_answer(struct connection *c, const struct frame *f, uint64_t now)
{
    uint32_t opaque = (uint32_t)answer_opaque(f);
    struct slot *s = &c->slots[opaque & (slots_each - 1)];
    answered_total++;
    if (!s->since || s->opaque != opaque) {
        wrong++;
        return;
    }
    if (!is_right(f))
        wrong++;
    uint64_t since = s->since;
    s->since = 0;
    c->outstanding--;
    if (now >= measure_from && now < measure_until) {
        answers++;
        if (last_answer && now - last_answer > longest_gap)
            longest_gap = now - last_answer;
        last_answer = now;
    }
    if (since >= measure_from && since < measure_until) {
        uint64_t took = now - since;
        buckets[bucket_of(took)]++;
        if (took > highest)
            highest = took;
    }
}

/* Read what is there; in closed loop each answer makes room for a new request. */
static void serve(struct connection *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_len, IN_BYTES - c->in_len, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        drop(c);
        return;
    }
    c->in_len += (size_t)n;
    uint64_t now = now_ns();
    struct frame f;
    size_t at = 0;
    int state;
    while ((state = read_frame(c->in + at, c->in_len - at, &f)) == 1) {
        take_answer(c, &f, now);
        at += f.total;
        if (opt->rate == 0 && now < measure_until)
            add_request(c, now);
    }
    memmove(c->in, c->in + at, c->in_len - at);
    c->in_len -= at;
    if (state < 0 || c->in_len == IN_BYTES) {
        wrong++;
        drop(c);
        return;
    }
    if (c->out_len)
        flush(c);
}

/* Send every request that is due by now; returns when the next one is. */
static uint64_t send_due(uint64_t start, uint64_t *sent)
{
    uint64_t now = now_ns(), due;
    while ((due = start + (uint64_t)((double)*sent * 1e9 / opt->rate)) <= now && due < measure_until) {
        struct connection *c = &connections[*sent % (uint64_t)opt->connections];
        ++*sent;
        if (c->fd < 0)
            continue;
        add_request(c, due);
        flush(c);
    }
    return due;
}

static void wait_until(int timer, uint64_t due)
{
    struct itimerspec t = {.it_value = {(time_t)(due / 1000000000ull), (long)(due % 1000000000ull)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &t, 0);
}

static uint64_t total_outstanding(void)
{
    uint64_t n = 0;
    for (int i = 0; i < opt->connections; i++)
        n += connections[i].outstanding;
    return n;
}

static void stop_measuring(int signal_number)
{
    (void)signal_number;
    told_to_stop = 1;
}

/* Enough was measured: --requests answers, or the harness said so. */
static int enough(void)
{
    return told_to_stop || (opt->requests && answers >= (uint64_t)opt->requests);
}

static void loop(uint64_t start, uint64_t give_up)
{
    struct epoll_event events[256];
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = 0};
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &e);
    uint64_t sent = 0;
    for (;;) {
        uint64_t now = now_ns();
        if (now < measure_until && enough()) {
            measure_until = now;
            give_up = now + (uint64_t)(opt->timeout * 1e9);
        }
        if (!open_connections || now >= give_up || (now >= measure_until && !total_outstanding()))
            return;
        if (opt->rate > 0 && now < measure_until)
            wait_until(timer, send_due(start, &sent));
        int n = epoll_wait(poller, events, 256, 100);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            uint64_t expirations;
            if (!c) {
                (void)!read(timer, &expirations, sizeof expirations);
                continue;
            }
            if (events[i].events & EPOLLOUT)
                flush(c);
            if (c->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                serve(c);
        }
    }
}

static void connect_all(void)
{
    poller = epoll_create1(0);
    slots_each = OPEN_LOOP_SLOTS;
    if (opt->rate == 0)
        for (slots_each = 2; slots_each < 2 * (uint32_t)opt->in_flight;)
            slots_each *= 2;
    connections = must(calloc((size_t)opt->connections, sizeof *connections));
    for (int i = 0; i < opt->connections; i++) {
        struct connection *c = &connections[i];
        c->fd = connect_loopback(opt->port);
        c->slots = must(calloc(slots_each, sizeof *c->slots));
        c->in = must(malloc(IN_BYTES));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
    }
    open_connections = opt->connections;
}

int run_lookups(const struct options *o)
{
    opt = o;
    if (o->kind == KIND_SIGNED)
        read_signatures();
    signal(SIGTERM, stop_measuring);
    connect_all();
    uint64_t start = now_ns();
    measure_from = start + (uint64_t)(o->warmup * 1e9);
    measure_until = measure_from + (uint64_t)(o->seconds * 1e9);
    for (int i = 0; o->rate == 0 && i < o->connections; i++) {
        for (int k = 0; k < o->in_flight; k++)
            add_request(&connections[i], start);
        flush(&connections[i]);
    }
    loop(start, measure_until + (uint64_t)(o->timeout * 1e9));
    double seconds = (double)(measure_until - measure_from) / 1e9;
    printf("{\"per_second\":%.1f,\"answers\":%llu,\"answered_total\":%llu,\"seconds\":%.3f,"
           "\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"longest_gap_ms\":%.3f,"
           "\"wrong\":%llu,\"lost\":%llu,\"overrun\":%llu,\"closed\":%d}\n",
           (double)answers / seconds, (unsigned long long)answers, (unsigned long long)answered_total, seconds,
           percentile_us(0.5), percentile_us(0.99), percentile_us(0.999), (double)highest / 1000.0,
           (double)longest_gap / 1e6, (unsigned long long)wrong, (unsigned long long)total_outstanding(),
           (unsigned long long)overrun, o->connections - open_connections);
    return 0;
}
