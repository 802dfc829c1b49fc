package example;

import java.time.Duration;
import java.util.Map;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.stereotype.Component;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** Asks the service about each request: the limit has the name of the route, the key is that of the KeyResolver. */
@Component
class SluiceRateLimiter implements RateLimiter<Object> {
  private final WebClient service;
  private final Duration timeout;
  /** The answer where the service gives none. */
  private final Response otherwise;

  SluiceRateLimiter(
      @Value("${sluice.url}") String url,
      @Value("${sluice.timeout}") Duration timeout,
      @Value("${sluice.on-error}") String onError) {
    this.service = WebClient.create(url);
    this.timeout = timeout;
    this.otherwise = new Response(onError.equals("allow"), Map.of());
  }

  @Override
  public Mono<Response> isAllowed(String routeId, String id) {
    return service.post().uri("/v1/consume").bodyValue(Map.of("keys", Map.of(routeId, id)))
        .retrieve().bodyToMono(Decision.class).timeout(timeout)
        .map(decision -> new Response(decision.allowed(), decision.fields()))
        .doOnError(error -> LoggerFactory.getLogger(getClass()).warn("no decision: {}", error.toString()))
        .onErrorReturn(otherwise);
  }

  record Decision(boolean allowed, Map<String, String> fields) {}

  @Override
  public Map<String, Object> getConfig() { return Map.of(); }

  @Override
  public Class<Object> getConfigClass() { return Object.class; }

  @Override
  public Object newConfig() { return new Object(); }
}
