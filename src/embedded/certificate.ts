// Certificates for servers on loopback: names and a period in, PEM out. Never reads the clock, never touches a file.

import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export interface KeyedCertificate {
  readonly certPem: string;
  /** PKCS #8. */
  readonly keyPem: string;
}

interface Period {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface AuthorityOptions extends Period {
  readonly commonName: string;
}

export interface CertificateOptions extends Period {
  /** What Kubernetes takes as the user's name. */
  readonly commonName: string;
  /** What Kubernetes takes as the user's groups. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usage: "server" | "client" | "both";
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

export async function createAuthority(options: AuthorityOptions): Promise<KeyedCertificate> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerialNumber(),
    name: new x509.Name([{ CN: [options.commonName] }]),
    notBefore: options.notBefore,
    notAfter: options.notAfter,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign |
          x509.KeyUsageFlags.cRLSign |
          x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false),
    ],
  });
  return {
    certPem: endLine(certificate.toString("pem")),
    keyPem: await exportKey(keys.privateKey),
  };
}

export async function issueCertificate(
  authority: KeyedCertificate,
  options: CertificateOptions,
): Promise<KeyedCertificate> {
  const issuer = new x509.X509Certificate(authority.certPem);
  const [keys, signingKey] = await Promise.all([generateKeys(), importKey(authority.keyPem)]);
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension(extendedUsages(options.usage)),
    await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false),
    await x509.AuthorityKeyIdentifierExtension.create(issuer, false),
  ];
  const names: x509.JsonGeneralName[] = [
    ...(options.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(options.ipAddresses ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  if (names.length > 0) extensions.push(new x509.SubjectAlternativeNameExtension(names));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerialNumber(),
    // One attribute per relative name: Go reads every O as a group only when they are not one multi-valued set.
    subject: new x509.Name([
      ...(options.organizations ?? []).map((organization) => ({ O: [organization] })),
      { CN: [options.commonName] },
    ]),
    issuer: issuer.subjectName,
    notBefore: options.notBefore,
    notAfter: options.notAfter,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions,
  });
  return {
    certPem: endLine(certificate.toString("pem")),
    keyPem: await exportKey(keys.privateKey),
  };
}

function extendedUsages(usage: CertificateOptions["usage"]): string[] {
  return [
    ...(usage === "client" ? [] : [x509.ExtendedKeyUsage.serverAuth]),
    ...(usage === "server" ? [] : [x509.ExtendedKeyUsage.clientAuth]),
  ];
}

/** 127 bits: positive in DER, and unique enough that two authorities of one name never clash in a trust store. */
function randomSerialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString("hex");
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey("pkcs8", key);
  return endLine(x509.PemConverter.encode(der, x509.PemConverter.PrivateKeyTag));
}

function importKey(keyPem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey(
    "pkcs8",
    x509.PemConverter.decodeFirst(keyPem),
    ALGORITHM,
    false,
    ["sign"],
  );
}

function endLine(pem: string): string {
  return pem.endsWith("\n") ? pem : `${pem}\n`;
}
