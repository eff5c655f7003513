// Schema, string formats: a format name and a text in, whether the text fits out. Formats that API servers ignore fit always.

import { isIPv4, isIPv6 } from "node:net";

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;
const HOSTNAME =
  /^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$/;
const SHORT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LONG_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const GO_DURATION = /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;
const SPELLED_DURATION =
  /^\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MAC =
  /^([0-9a-f]{2}([:-])[0-9a-f]{2}(\2[0-9a-f]{2}){4}((\2[0-9a-f]{2}){2}|(\2[0-9a-f]{2}){14})?|[0-9a-f]{4}(\.[0-9a-f]{4}){2}(\.[0-9a-f]{4})?)$/i;

/** By the name without dashes: servers take "date-time" and "datetime" for one. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  datetime: isDateTime,
  date: isDate,
  duration: (text) => GO_DURATION.test(text) || SPELLED_DURATION.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes("%"),
  cidr: isCidr,
  mac: (text) => MAC.test(text),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  email: (text) => /^[^\s@<>]+@[^\s@<>]+$/.test(text),
  uri: (text) => text.startsWith("/") || URL.canParse(text),
  byte: (text) => BASE64.test(text),
  uuid: (text) => isUuid(text, "[0-9a-f]", "[0-9a-f]"),
  uuid3: (text) => isUuid(text, "3", "[0-9a-f]"),
  uuid4: (text) => isUuid(text, "4", "[89ab]"),
  uuid5: (text) => isUuid(text, "5", "[89ab]"),
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  k8sshortname: (text) => text.length <= 63 && SHORT_NAME.test(text),
  k8slongname: (text) => text.length <= 253 && LONG_NAME.test(text),
};

export function fitsFormat(format: string, text: string): boolean {
  const name = format.replaceAll("-", "");
  return Object.hasOwn(FORMATS, name) ? (FORMATS[name]?.(text) ?? true) : true;
}

/** Whether the server looks at this format of strings at all. */
export function isEnforcedFormat(format: string): boolean {
  return Object.hasOwn(FORMATS, format.replaceAll("-", ""));
}

function isDate(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null) return false;
  const [, year, month, day] = parts.map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day >= 1 && day <= days;
}

function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text);
  if (parts === null) return false;
  const [, date, hour, minute, second] = parts;
  return isDate(date ?? "") && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !/^(0|[1-9]\d*)$/.test(bits)) return false;
  if (isIPv4(address)) return Number(bits) <= 32;
  return isIPv6(address) && !address.includes("%") && Number(bits) <= 128;
}

function isUuid(text: string, version: string, variant: string): boolean {
  const pattern = `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`;
  return new RegExp(pattern, "i").test(text);
}
