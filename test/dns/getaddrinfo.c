/* Asks the C library it is built with: a name and "4", "6" or "0" (either) in, one address per line out, or why not. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  struct addrinfo hints = {0}, *found, *one;
  if (argc != 3) return 2;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = argv[2][0] == '4' ? AF_INET : argv[2][0] == '6' ? AF_INET6 : AF_UNSPEC;
  int code = getaddrinfo(argv[1], "80", &hints, &found);
  if (code != 0) {
    const char *name = code == EAI_NONAME ? "EAI_NONAME"
                     : code == EAI_AGAIN  ? "EAI_AGAIN"
                     : code == EAI_FAIL   ? "EAI_FAIL"
                                          : gai_strerror(code);
    printf("%s\n", name);
    return 1;
  }
  for (one = found; one != NULL; one = one->ai_next) {
    char text[INET6_ADDRSTRLEN];
    void *address = one->ai_family == AF_INET
      ? (void *)&((struct sockaddr_in *)one->ai_addr)->sin_addr
      : (void *)&((struct sockaddr_in6 *)one->ai_addr)->sin6_addr;
    printf("%s\n", inet_ntop(one->ai_family, address, text, sizeof text));
  }
  freeaddrinfo(found);
  return 0;
}
