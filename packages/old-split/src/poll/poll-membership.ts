import { localTime, readOptions } from '@sluice/old-core/spi';
import type { Membership } from '../membership/membership.ts';
import { POLL_MEMBERSHIP, type PollMembershipOptions } from './options.ts';
import { Poller } from './poller.ts';

/**
 * A membership by any registry that lists its members when it is asked, such as the DNS or the API of Kubernetes. The
 * shares keep the limit as an {@link UntimedConfirmation} describes.
 *
 * @throws PolicyError for a bad or unknown option. Nothing is asked before a limiter uses it.
 */
export function pollMembership(options: PollMembershipOptions): Membership {
  const { members, ...settings } = readOptions(options, POLL_MEMBERSHIP, 'pollMembership');
  return new Poller(settings, members, localTime);
}
