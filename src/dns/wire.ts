// DNS, numbers on the wire: codes of RFC 1035 and its followers, and where things stand in a message.

export const TYPE = {
  A: 1,
  NS: 2,
  SOA: 6,
  HINFO: 13,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

export const CLASS_IN = 1;

export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  /** The first that needs the upper bits in OPT. */
  BADVERS: 16,
} as const;

/** Bytes before the question. */
export const HEADER_BYTES = 12;
/** Type, class, TTL and length of the data, after a record's name. */
export const RECORD_HEAD_BYTES = 10;
/** Without options. */
export const OPT_BYTES = 11;
/** What everybody must take over UDP (RFC 1035), and the least that EDNS can ask for (RFC 6891). */
export const UDP_MIN_BYTES = 512;
export const MESSAGE_MAX_BYTES = 65_535;

/** First two bits of a byte that is no length: a pointer to where the name goes on. */
export const POINTER = 0xc0;
/** In byte 2 of a message. */
export const FLAG = { QR: 0x80, AA: 0x04, TC: 0x02, RD: 0x01 } as const;
