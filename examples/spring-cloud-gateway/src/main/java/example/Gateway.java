package example;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import reactor.core.publisher.Mono;

@SpringBootApplication
public class Gateway {
  public static void main(String[] args) {
    SpringApplication.run(Gateway.class, args);
  }

  /** A gateway of yours takes the user whom it has authenticated, never a header field of the client. */
  @Bean
  @Primary
  KeyResolver user() {
    return exchange -> Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-User"));
  }
}
