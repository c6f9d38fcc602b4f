/* A streaming endpoint with known truth, for benchmarks/wire_*.py.
 *
 * Every event carries when it was due, when it was handed to the socket ("sent_ns") and when its request was complete
 * ("recv_ns"), all CLOCK_MONOTONIC, which is the clock of Python's perf_counter_ns. One thread, epoll, a heap of due times.
 *
 *     stream_server TTFT_US GAP_US TOKENS STEP_US [CERT.pem|- [LOG]]
 *
 * prints its port and serves until stdin closes. GAP_US 0 sends as fast as the sockets take it. With STEP_US above 0 the
 * first event waits for the next multiple of it, so that all streams send in step, as an engine that batches does. With
 * a certificate (certificate and key in one file) it speaks TLS. LOG gets one line per finished answer: when its request
 * was complete, and when its first and its last event were handed to the socket.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 16, OUT_MAX = 1 << 16, EVENTS = 256, CONNECTIONS = 1 << 14 };

typedef struct {
    int fd, shaken, wants_write, streaming;
    SSL *ssl;
    size_t n_in, n_out, at_out;
    long sent;
    int64_t due, recv, first;
    char in[REQUEST_MAX], out[OUT_MAX];
} Conn;

static Conn *conns[CONNECTIONS];
static Conn *heap[CONNECTIONS];
static int n_heap, poller;
static int64_t ttft, gap, step;
static long tokens;
static SSL_CTX *tls;
static FILE *record;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sift_up(int i) {
    for (; i > 0 && heap[i]->due < heap[(i - 1) / 2]->due; i = (i - 1) / 2) {
        Conn *c = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = c;
    }
}

static void sift_down(int i) {
    for (;;) {
        int least = i, left = 2 * i + 1, right = left + 1;
        if (left < n_heap && heap[left]->due < heap[least]->due) least = left;
        if (right < n_heap && heap[right]->due < heap[least]->due) least = right;
        if (least == i) return;
        Conn *c = heap[i];
        heap[i] = heap[least];
        heap[least] = c;
        i = least;
    }
}

static void schedule(Conn *c, int64_t due) {
    c->due = due;
    heap[n_heap++] = c;
    sift_up(n_heap - 1);
}

static void unschedule(Conn *c) {
    for (int i = 0; i < n_heap; i++)
        if (heap[i] == c) {
            heap[i] = heap[--n_heap];
            if (i < n_heap) {
                sift_down(i);
                sift_up(i);
            }
            return;
        }
}

static void watch(Conn *c, int wants_write) {
    if (c->wants_write == wants_write) return;
    c->wants_write = wants_write;
    struct epoll_event e = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
}

static void drop(Conn *c) {
    unschedule(c);
    if (c->ssl) SSL_free(c->ssl);
    close(c->fd);
    conns[c->fd] = NULL;
    free(c);
}

/* Bytes moved, 0 to try again later, -1 when the connection is gone. */
static ssize_t put(Conn *c, const char *data, size_t n) {
    if (!c->ssl) {
        ssize_t done = send(c->fd, data, n, MSG_NOSIGNAL);
        return done >= 0 ? done : errno == EAGAIN ? 0 : -1;
    }
    ERR_clear_error(); /* an old error of another connection would be taken for one of this */
    int done = SSL_write(c->ssl, data, (int)n);
    if (done > 0) return done;
    int why = SSL_get_error(c->ssl, done);
    return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? 0 : -1;
}

static ssize_t get(Conn *c, char *data, size_t n) {
    if (!c->ssl) {
        ssize_t done = recv(c->fd, data, n, 0);
        return done > 0 ? done : done < 0 && errno == EAGAIN ? 0 : -1;
    }
    ERR_clear_error();
    int done = SSL_read(c->ssl, data, (int)n);
    if (done > 0) return done;
    return SSL_get_error(c->ssl, done) == SSL_ERROR_WANT_READ ? 0 : -1;
}

static int flush(Conn *c) {
    while (c->at_out < c->n_out) {
        ssize_t done = put(c, c->out + c->at_out, c->n_out - c->at_out);
        if (done < 0) return -1;
        if (done == 0) {
            watch(c, 1);
            return 0;
        }
        c->at_out += (size_t)done;
    }
    c->at_out = c->n_out = 0;
    watch(c, 0);
    return 1;
}

static void chunk(Conn *c, const char *event) {
    c->n_out += (size_t)sprintf(c->out + c->n_out, "%zx\r\n%s\r\n", strlen(event), event);
}

static void event(Conn *c) {
    static const char *SHAPE =
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,"
        "\"delta\":{\"content\":\" tok\"},\"finish_reason\":%s}],\"due_ns\":%lld,\"sent_ns\":%lld,\"recv_ns\":%lld}\n\n";
    char text[512];
    int64_t at = now();
    if (c->sent++ == 0) c->first = at;
    snprintf(text, sizeof text, SHAPE, c->sent == tokens ? "\"stop\"" : "null", (long long)c->due, (long long)at,
             (long long)c->recv);
    chunk(c, text);
    if (c->sent < tokens) return;
    if (record) fprintf(record, "%lld %lld %lld\n", (long long)c->recv, (long long)c->first, (long long)at);
    snprintf(text, sizeof text,
             "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":"
             "{\"prompt_tokens\":9,\"completion_tokens\":%ld,\"total_tokens\":%ld}}\n\n", tokens, tokens + 9);
    chunk(c, text);
    chunk(c, "data: [DONE]\n\n");
    c->n_out += (size_t)sprintf(c->out + c->n_out, "0\r\n\r\n");
    c->streaming = 0;
}

/* Send what is due; returns -1 when the connection is gone. */
static int stream(Conn *c) {
    if (c->n_out) {
        int done = flush(c);
        if (done < 0) return -1;
        if (done == 0) { /* still full: a timed stream tries again at its next event */
            if (gap) schedule(c, c->due + gap);
            return 0;
        }
    }
    do {
        event(c);
        int done = flush(c);
        if (done < 0) return -1;
        if (done == 0 && gap == 0) return 0; /* goes on when the socket is writable */
    } while (c->streaming && gap == 0);
    if (c->streaming) schedule(c, c->due + gap);
    return 0;
}

static int answer(Conn *c) {
    char *end = memmem(c->in, c->n_in, "\r\n\r\n", 4);
    if (!end) return c->n_in == REQUEST_MAX ? -1 : 0;
    *end = 0;
    char *field = strcasestr(c->in, "content-length:");
    size_t size = (size_t)(end - c->in) + 4 + (field ? strtoul(field + 15, NULL, 10) : 0);
    *end = '\r';
    if (c->n_in < size) return size > REQUEST_MAX ? -1 : 0;
    c->n_in = 0;
    c->recv = now();
    c->sent = 0;
    c->streaming = 1;
    c->n_out += (size_t)sprintf(c->out + c->n_out,
                                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    int64_t due = c->recv + ttft;
    schedule(c, step ? (due + step - 1) / step * step : due);
    return flush(c) < 0 ? -1 : 0;
}

static int readable(Conn *c) {
    if (c->ssl && !c->shaken) {
        ERR_clear_error();
        int done = SSL_accept(c->ssl);
        if (done != 1) {
            int why = SSL_get_error(c->ssl, done);
            return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
        }
        c->shaken = 1;
    }
    for (;;) {
        ssize_t done = get(c, c->in + c->n_in, REQUEST_MAX - c->n_in);
        if (done <= 0) return (int)done;
        c->n_in += (size_t)done;
        if (answer(c) < 0) return -1;
    }
}

static void accept_all(int listener) {
    int fd, yes = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= CONNECTIONS) {
            close(fd);
            continue;
        }
        Conn *c = conns[fd] = calloc(1, sizeof *c);
        c->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (tls) {
            c->ssl = SSL_new(tls);
            SSL_set_fd(c->ssl, fd);
        }
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static int listen_on_any_port(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 4096) || getsockname(fd, (struct sockaddr *)&a, &n)) {
        perror("stream_server: listen");
        exit(1);
    }
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: stream_server TTFT_US GAP_US TOKENS STEP_US [CERT.pem|- [LOG]]\n");
        return 2;
    }
    ttft = atoll(argv[1]) * 1000, gap = atoll(argv[2]) * 1000, tokens = atol(argv[3]), step = atoll(argv[4]) * 1000;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* the default lets the kernel be 50 us late */
    if (argc > 6) record = fopen(argv[6], "w");
    if (argc > 5 && strcmp(argv[5], "-")) {
        tls = SSL_CTX_new(TLS_server_method());
        SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (SSL_CTX_use_certificate_file(tls, argv[5], SSL_FILETYPE_PEM) != 1 ||
            SSL_CTX_use_PrivateKey_file(tls, argv[5], SSL_FILETYPE_PEM) != 1) {
            fprintf(stderr, "stream_server: no certificate and key in %s\n", argv[5]);
            return 2;
        }
    }
    poller = epoll_create1(0);
    int listener = listen_on_any_port();
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &listener}, got[EVENTS];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    e.data.ptr = NULL; /* stdin: the benchmark that started it is gone */
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &e);
    for (;;) {
        int64_t wait = n_heap ? heap[0]->due - now() : 1000000000LL;
        if (wait < 0) wait = 0;
        struct timespec t = {wait / 1000000000LL, wait % 1000000000LL};
        int n = epoll_pwait2(poller, got, EVENTS, &t, NULL);
        for (int i = 0; i < n; i++) {
            if (got[i].data.ptr == NULL) return 0;
            if (got[i].data.ptr == &listener) {
                accept_all(listener);
                continue;
            }
            Conn *c = got[i].data.ptr;
            int bad = 0;
            if (got[i].events & EPOLLOUT) {
                bad = flush(c) < 0;
                if (!bad && !c->n_out && c->streaming && gap == 0 && c->sent) bad = stream(c) < 0;
            }
            if (!bad && got[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) bad = readable(c) < 0;
            if (bad) drop(c);
        }
        int64_t t0 = now();
        while (n_heap && heap[0]->due <= t0) {
            Conn *c = heap[0];
            unschedule(c);
            if (stream(c) < 0) drop(c);
        }
    }
}
