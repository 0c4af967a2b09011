// The system in Verilator with a memory behind its bus. Commands come as lines on standard input, answers go to standard
// output, one line each: see gridloom.hardware.system.bench.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>
#include <iostream>
#include <sstream>
#include "Vgridloom_system.h"
#include "verilated.h"

static Vgridloom_system *top;
static uint64_t cycles = 0;
static std::vector<uint8_t> memory;
static uint32_t base_address = 0x40000000;
static uint32_t error_low = 1, error_high = 0;  // addresses that answer with an error
static bool hangs = false;
static uint32_t noise = 0;  // seed of random waiting; 0: none
static unsigned latency = 2;

static bool wait_now() {
  if (!noise) return false;
  noise = noise * 1664525u + 1013904223u;
  return (noise >> 28) < 6;
}
static bool is_error(uint32_t a) {
  return (a >= error_low && a <= error_high) || a < base_address || a - base_address >= memory.size();
}

struct Read { uint32_t address; unsigned left; uint64_t due; };
static std::deque<Read> reads;
static bool have_aw = false, have_error = false, b_pending = false;
static uint32_t aw_address = 0;
static uint64_t b_due = 0;
static std::deque<std::pair<uint32_t, unsigned>> beats;  // data and strobes that came before their address
static std::deque<bool> lasts;

static void edge() {
  // What the memory shows in this cycle was set before; handshakes are sampled here, as at a rising edge.
  bool ar = top->m_axi_arvalid && top->m_axi_arready, r = top->m_axi_rvalid && top->m_axi_rready;
  bool aw = top->m_axi_awvalid && top->m_axi_awready, w = top->m_axi_wvalid && top->m_axi_wready;
  bool b = top->m_axi_bvalid && top->m_axi_bready;
  Read asked{top->m_axi_araddr, unsigned(top->m_axi_arlen) + 1, cycles + latency};
  uint32_t new_aw = top->m_axi_awaddr, data = top->m_axi_wdata;
  unsigned strobes = top->m_axi_wstrb;
  bool last = top->m_axi_wlast;
  top->clk = 0; top->eval();
  top->clk = 1; top->eval();
  cycles++;
  if (ar) reads.push_back(asked);
  if (r) { reads.front().address += 4; if (--reads.front().left == 0) reads.pop_front(); }
  if (aw) { have_aw = true; aw_address = new_aw; }
  if (w) { beats.push_back({data, strobes}); lasts.push_back(last); }
  while (have_aw && !beats.empty()) {
    auto [word, lanes] = beats.front(); bool ends = lasts.front();
    beats.pop_front(); lasts.pop_front();
    if (is_error(aw_address)) have_error = true;
    else for (int k = 0; k < 4; k++) if (lanes >> k & 1) memory[aw_address - base_address + k] = word >> 8 * k;
    aw_address += 4;
    if (ends) { have_aw = false; b_pending = true; b_due = cycles + latency; }
  }
  if (b) { b_pending = false; have_error = false; }
  // What the memory shows in the next cycle. Once something is valid it stays.
  top->m_axi_arready = !hangs && reads.size() < 8 && !wait_now();
  top->m_axi_awready = !hangs && !have_aw && !b_pending && !wait_now();
  top->m_axi_wready = !hangs && !b_pending && !wait_now();
  bool held_r = top->m_axi_rvalid && !r;
  bool shows = !reads.empty() && (held_r || (!hangs && cycles >= reads.front().due && !wait_now()));
  top->m_axi_rvalid = shows;
  if (shows) {
    uint32_t a = reads.front().address, word = 0;
    bool wrong = is_error(a);
    if (!wrong) memcpy(&word, &memory[a - base_address], 4);
    top->m_axi_rdata = word; top->m_axi_rresp = wrong ? 2 : 0; top->m_axi_rlast = reads.front().left == 1;
  }
  bool held_b = top->m_axi_bvalid && !b;
  top->m_axi_bvalid = b_pending && (held_b || (!hangs && cycles >= b_due && !wait_now()));
  top->m_axi_bresp = have_error ? 2 : 0;
  top->eval();
}

static bool write_register(uint32_t a, uint32_t d) {
  top->s_axi_awaddr = a; top->s_axi_wdata = d; top->s_axi_wstrb = 15;
  top->s_axi_awvalid = top->s_axi_wvalid = 1; top->s_axi_bready = 1; top->eval();
  for (bool taken = false; !taken;) { taken = top->s_axi_awready; edge(); }
  top->s_axi_awvalid = top->s_axi_wvalid = 0; top->eval();
  while (!top->s_axi_bvalid) edge();
  bool fine = top->s_axi_bresp == 0;
  edge();
  return fine;
}
static bool read_register(uint32_t a, uint32_t &d) {
  top->s_axi_araddr = a; top->s_axi_arvalid = 1; top->s_axi_rready = 1; top->eval();
  for (bool taken = false; !taken;) { taken = top->s_axi_arready; edge(); }
  top->s_axi_arvalid = 0; top->eval();
  while (!top->s_axi_rvalid) edge();
  d = top->s_axi_rdata;
  bool fine = top->s_axi_rresp == 0;
  edge();
  return fine;
}
static void reset(unsigned n) {
  top->rst = 1;
  for (unsigned k = 0; k < n; k++) edge();
  top->rst = 0;
  reads.clear(); beats.clear(); lasts.clear(); have_aw = b_pending = have_error = false;
  edge();
}

int main(int argc, char **argv) {
  Verilated::commandArgs(argc, argv);
  top = new Vgridloom_system;
  memory.resize(argc > 1 ? strtoul(argv[1], nullptr, 0) : 1 << 20);
  top->clk = 1; reset(4);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string word; in >> word;
    uint32_t a = 0, d = 0;
    if (word == "w") { in >> std::hex >> a >> d; puts(write_register(a, d) ? "ok" : "refused"); }
    else if (word == "r") {
      in >> std::hex >> a;
      if (read_register(a, d)) printf("%08x\n", d); else puts("refused");
    } else if (word == "m") {
      std::string hex; in >> std::hex >> a >> hex;
      for (size_t k = 0; k + 1 < hex.size(); k += 2)
        memory.at(a - base_address + k / 2) = uint8_t(std::stoul(hex.substr(k, 2), nullptr, 16));
      puts("ok");
    } else if (word == "d") {
      in >> std::hex >> a >> d;
      for (uint32_t k = 0; k < d; k++) printf("%02x", memory.at(a - base_address + k));
      puts("");
    } else if (word == "t") { in >> std::dec >> d; while (d--) edge(); puts("ok"); }
    else if (word == "x") { reset(2); puts("ok"); }
    else if (word == "i") printf("%d\n", top->irq);
    else if (word == "c") printf("%llu\n", (unsigned long long)cycles);
    else if (word == "errors") { in >> std::hex >> error_low >> error_high; puts("ok"); }
    else if (word == "hang") { in >> d; hangs = d; puts("ok"); }
    else if (word == "noise") { in >> std::dec >> noise; puts("ok"); }
    else if (word == "latency") { in >> std::dec >> latency; puts("ok"); }
    else puts("unknown");
    fflush(stdout);
  }
  return 0;
}
