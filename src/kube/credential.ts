// Credentials: what a request carries to prove who we are, and where the next one comes from. Never holds one.

export interface Credential {
  /** Value of the Authorization header. */
  readonly authorization?: string | undefined;
  /** PEM, from an exec plugin; it replaces the one in the configuration. */
  readonly certificate?: { readonly certificate: string; readonly key: string } | undefined;
}

/** What a header can carry; anything else is no token, and no request with it would leave this machine. */
export function isToken(text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text);
}

export interface CredentialSource {
  /** At once when one is at hand. */
  current(): Credential | Promise<Credential>;
  /** After a 401: gets a newer one if there can be one. False: the server has refused all that we have. */
  refresh(refused: Credential): Promise<boolean>;
}
