// What the tests use of dns-packet, which has no types of its own: it reads our answers without knowing how we write them.

declare module "dns-packet" {
  export type DecodedData =
    | string
    | readonly Buffer[]
    | {
        readonly priority?: number;
        readonly weight?: number;
        readonly port?: number;
        readonly target?: string;
        readonly mname?: string;
        readonly rname?: string;
        readonly serial?: number;
        readonly refresh?: number;
        readonly retry?: number;
        readonly expire?: number;
        readonly minimum?: number;
        readonly cpu?: string;
        readonly os?: string;
      };

  export interface DecodedRecord {
    readonly name: string;
    readonly type: string;
    readonly ttl?: number;
    readonly class?: string;
    readonly data?: DecodedData;
    /** Of OPT. */
    readonly udpPayloadSize?: number;
    readonly extendedRcode?: number;
    readonly ednsVersion?: number;
    readonly flag_do?: boolean;
    readonly options?: readonly unknown[];
  }

  export interface DecodedPacket {
    readonly id: number;
    readonly type: "query" | "response";
    readonly opcode: string;
    readonly rcode: string;
    readonly flag_aa: boolean;
    readonly flag_tc: boolean;
    readonly flag_rd: boolean;
    readonly flag_ra: boolean;
    readonly flag_ad: boolean;
    readonly flag_cd: boolean;
    readonly questions: readonly { readonly name: string; readonly type: string }[];
    readonly answers: readonly DecodedRecord[];
    readonly authorities: readonly DecodedRecord[];
    readonly additionals: readonly DecodedRecord[];
  }

  export function decode(message: Uint8Array): DecodedPacket;
}
