// SPDX-License-Identifier: Apache-2.0
// The simulated board with its serial line at a pseudo-terminal. Prints the terminal's name, then runs until its
// standard input ends. Real bits go in and come out: start bit, eight bits, stop bit, GC_DIVISOR cycles each.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "Vtop.h"
#include "verilated.h"

namespace {

// Bits from the host to the board; the line is high between bytes.
class Sender {
public:
    bool busy() const { return left_ != 0; }
    void send(uint8_t byte) {
        bits_ = 0x200u | unsigned(byte) << 1;
        left_ = 10 * GC_DIVISOR;
    }
    bool line() {
        if (!left_) return true;
        const bool level = bits_ >> ((10 * GC_DIVISOR - left_) / GC_DIVISOR) & 1;
        --left_;
        return level;
    }

private:
    unsigned bits_ = 0, left_ = 0;
};

// Bits from the board to the host, each looked at in its middle.
class Receiver {
public:
    // A level of the line; a byte, or -1.
    int level(bool line) {
        if (time_ < 0) {
            if (!line) time_ = 0;
            return -1;
        }
        const int at = ++time_;
        if (at % GC_DIVISOR != GC_DIVISOR / 2) return -1;
        const int bit = at / GC_DIVISOR;
        if (bit == 0 && line) time_ = -1;
        if (bit >= 1 && bit <= 8) byte_ = byte_ >> 1 | (line ? 0x80 : 0);
        if (bit < 9) return -1;
        time_ = -1;
        if (!line) fprintf(stderr, "ulx3s: a byte without its stop bit\n");
        return line ? byte_ : -1;
    }

private:
    int time_ = -1, byte_ = 0;
};

int terminal() {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) return -1;
    // Kept open, so that the terminal stays when a host closes it, and without an echo from the start.
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    termios mode;
    if (slave < 0 || tcgetattr(slave, &mode)) return -1;
    cfmakeraw(&mode);
    if (tcsetattr(slave, TCSANOW, &mode)) return -1;
    fcntl(master, F_SETFL, O_NONBLOCK);
    return master;
}

bool readable(int file) {
    pollfd one = {file, POLLIN, 0};
    return poll(&one, 1, 0) > 0;
}

}  // namespace

int main() {
    const int host = terminal();
    if (host < 0) {
        perror("ulx3s: no pseudo-terminal");
        return 1;
    }
    printf("%s\n", ptsname(host));
    fflush(stdout);

    VerilatedContext context;
    Vtop top{&context};
    Sender sender;
    Receiver receiver;
    top.btn_pwr_n = 1;
    for (uint64_t cycle = 0;; ++cycle) {
        char byte;
        if (!sender.busy() && cycle % 64 == 0 && read(host, &byte, 1) == 1) sender.send(uint8_t(byte));
        if (cycle % 65536 == 0 && readable(0) && read(0, &byte, 1) <= 0) break;
        top.ftdi_txd = sender.line();
        top.clk_25mhz = 1;
        top.eval();
        top.clk_25mhz = 0;
        top.eval();
        const int got = receiver.level(top.ftdi_rxd);
        if (got >= 0) {
            const uint8_t out = uint8_t(got);
            if (write(host, &out, 1) != 1) fprintf(stderr, "ulx3s: the host does not read\n");
        }
    }
    return 0;
}
