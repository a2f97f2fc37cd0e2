// SPDX-License-Identifier: Apache-2.0
// Registers of many widths, counters, random numbers, digests, log messages and assertions.

#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8> operation; bit<8> index;
    bit<1> one; bit<7> seven; bit<9> nine; bit<7> pad; bit<32> word; int<48> balance; bit<64> long; bit<72> wide; bit<200> wider;
    bit<8> low; bit<8> high; bit<8> drawn;
}

struct headers_t { request_t request; }
struct metadata_t { }
struct news_t { bit<8> index; int<48> balance; bit<200> wider; int<100> debt; }

parser RememberingParse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.request); transition accept; }
}

control RememberingVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control RememberingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<1>>(8) ones;
    register<bit<9>>(8) nines;
    register<bit<32>>(8) words;
    register<int<48>>(8) balances;
    register<bit<64>>(8) longs;
    register<bit<72>>(8) wides;
    register<bit<200>>(8) widers;
    counter(8, CounterType.packets_and_bytes) packets;

    apply {
        standard.egress_spec = 1;
        bit<32> index = (bit<32>)hdr.request.index;
        packets.count(index);
        if (hdr.request.operation == 1) {
            ones.write(index, hdr.request.one);
            nines.write(index, hdr.request.nine);
            words.write(index, hdr.request.word);
            balances.write(index, hdr.request.balance);
            longs.write(index, hdr.request.long);
            wides.write(index, hdr.request.wide);
            widers.write(index, hdr.request.wider);
        } else if (hdr.request.operation == 2) {
            ones.read(hdr.request.one, index);
            nines.read(hdr.request.nine, index);
            words.read(hdr.request.word, index);
            balances.read(hdr.request.balance, index);
            longs.read(hdr.request.long, index);
            wides.read(hdr.request.wide, index);
            widers.read(hdr.request.wider, index);
        } else if (hdr.request.operation == 3) { // what is owed is red
            int<48> balance;
            balances.read(balance, index);
            balance = balance - (int<48>)(bit<48>)hdr.request.word;
            balances.write(index, balance);
            if (balance < 0) { hdr.request.one = 1; } else { hdr.request.one = 0; }
            hdr.request.balance = balance;
        } else if (hdr.request.operation == 4) {
            random(hdr.request.drawn, hdr.request.low, hdr.request.high);
        } else if (hdr.request.operation == 5) {
            digest<news_t>(1, { hdr.request.index, hdr.request.balance, hdr.request.wider, (int<100>)hdr.request.balance });
        } else if (hdr.request.operation == 6) {
            log_msg("index {} balance {} wide {}", { hdr.request.index, hdr.request.balance, hdr.request.wide });
            assert(hdr.request.word != 13);
        }
    }
}

control RememberingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control RememberingCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control RememberingDeparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.request); } }

V1Switch(RememberingParse(), RememberingVerify(), RememberingIngress(), RememberingEgress(), RememberingCompute(), RememberingDeparse()) main;
