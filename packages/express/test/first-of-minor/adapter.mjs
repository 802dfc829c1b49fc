// @sluice/express 0.1.0, as built. Written by scripts/build/freeze-adapter.mjs: do not edit.
import { Layer, asError, createEnforcer, fieldText, methodDecorator, namedByPlace, userIdOf, weakMapMarks, withLimiter } from "@sluice/http/spi";
import { warnOnce } from "@sluice/core/spi";
export * from "@sluice/core";
export * from "@sluice/http";
function matchOf(layer, path) {
	try {
		const match = layer.match(path);
		if (match === false) return void 0;
		if (match !== true) return match;
		const isRegExp = layer.matchers?.some(({ name }) => name === "regexpMatcher") === true;
		const found = {
			path: layer.path ?? "",
			params: layer.params ?? {}
		};
		return isRegExp ? {
			...found,
			pattern: "(RegExp)"
		} : found;
	} catch {
		return;
	}
}
function templateOf(taken, { params, pattern }, caseSensitive) {
	const written = caseSensitive ? taken : taken.toLowerCase();
	if (pattern !== void 0) return isPlain(pattern) ? written : pattern.toString();
	const names = Object.keys(params);
	if (names.length === 0) return written;
	const values = taken.split("/").map(decoded);
	const parts = written.split("/");
	for (const [name, value] of Object.entries(params).toReversed()) for (const one of [value].flat().toReversed()) {
		const at = values.lastIndexOf(one);
		if (at === -1) return `/:${names.join("/:")}`;
		parts[at] = `:${name}`;
		values[at] = "";
	}
	return parts.join("/");
}
function isPlain(pattern) {
	return pattern instanceof RegExp ? /^\^(?:\\[/.]|[\w~!@&=,;%-])*\\\/\?\(\?=\\\/\|\$\)$/.test(pattern.source) : typeof pattern === "string" && !/[{}()[\]*+?!:\\]/.test(pattern);
}
function decoded(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}
function appsOf(request) {
	const apps = [];
	for (let app = request.app; app !== void 0; app = app.parent) apps.unshift(app);
	return apps;
}
function below(path, match) {
	const left = path.slice(match.path.length);
	return left.startsWith("/") ? left : `/${left}`;
}
function layersOf(app) {
	return (app._router ?? app.router)?.stack ?? [];
}
function patternOf(layer, app, match) {
	if (match.pattern !== void 0) return match.pattern;
	const mountpath = app?.mountpath;
	const written = Array.isArray(mountpath) ? mountpath.map(String).join(",") : mountpath;
	if (layer.regexp === void 0) return Object.keys(match.params).length > 0 ? void 0 : written;
	return written === void 0 || isPlain(written) || isPlain(layer.regexp) ? layer.regexp : written;
}
function mountPath(request) {
	if (request.baseUrl === "") return "";
	const [root, ...inner] = appsOf(request);
	return wayTo({
		route: request.route,
		apps: inner,
		caseSensitive: root.enabled("case sensitive routing")
	}, layersOf(root), request.baseUrl, request.baseUrl + request.path);
}
function wayTo(sought, layers, base, path) {
	if (base === "" && sought.route !== void 0 && layers.some(({ route }) => route === sought.route)) return "";
	for (const layer of layers) {
		const match = layer.route === void 0 ? matchOf(layer, path) : void 0;
		if (match === void 0) continue;
		const matched = match.path.replace(/\/$/, "");
		if (!base.startsWith(matched)) continue;
		const [app] = layer.name === "mounted_app" ? sought.apps : [];
		const own = templateOf(matched, {
			...match,
			pattern: patternOf(layer, app, match)
		}, sought.caseSensitive);
		const baseLeft = base.slice(matched.length);
		if (sought.route === void 0 && baseLeft === "" && matched !== "") return own;
		const inside = app === void 0 ? layer.handle.stack : layersOf(app);
		if (inside === void 0) continue;
		const rest = wayTo(app === void 0 ? sought : {
			...sought,
			apps: sought.apps.slice(1)
		}, inside, baseLeft, below(path, match));
		if (rest !== void 0) return own + rest;
	}
}
function routeTemplate(request, self, method = request.method) {
	const { route } = request;
	if (route === void 0 || isPast(route, request, self)) return upcoming(request, self, method);
	return (mountPath(request) ?? unknownMount()) + String(route.path) || "/";
}
function unknownMount() {
	warnOnce("SLUICE_ROUTE_UNKNOWN", "byRoute() did not find where its application is mounted, so all its mount paths share one budget. Mount applications with app.use, not router.use.");
	return "*";
}
function isPast({ stack = [] }, request, self) {
	if (self === void 0 || stack.some(({ handle }) => handle === self)) return false;
	const [root, ...apps] = appsOf(request);
	const way = {
		apps,
		caseSensitive: root.enabled("case sensitive routing"),
		self
	};
	for (const { meets } of stepsThrough(way, layersOf(root), request.baseUrl + request.path, "")) if (meets === "self") return true;
	return false;
}
function upcoming(request, self, asked) {
	const [root, ...inner] = appsOf(request);
	const caseSensitive = root.enabled("case sensitive routing");
	const method = asked === "HEAD" ? "get" : asked.toLowerCase();
	let found;
	let otherwise;
	let hasPassed = false;
	for (const step of stepsThrough({
		apps: inner,
		caseSensitive,
		self
	}, layersOf(root), request.baseUrl + request.path, "")) if (step.meets === "self") [found, otherwise, hasPassed] = [
		void 0,
		void 0,
		true
	];
	else if (step.meets === "application" || step.meets === "route" && handles(step.methods, method)) {
		found ??= step;
		if (hasPassed) break;
	} else if (otherwise === void 0 || step.meets === "route" && otherwise.meets !== "route") otherwise = step;
	const step = found ?? otherwise;
	if (step === void 0 || step.meets === "self") return request.baseUrl !== "" && mountPath(request) === void 0 ? unknownMount() : void 0;
	if (step.meets !== "route") warnOnce("SLUICE_ROUTE_UNKNOWN", `byRoute() is used in app.use, and ${step.template || "/"} has a function or an application whose routes are hidden: all paths below share one budget. For a budget per route, put the limiter on the routes themselves, or into that application.`, step.template);
	return step.template || "/";
}
function* stepsThrough(way, layers, path, above) {
	for (const layer of layers) {
		const match = matchOf(layer, path);
		if (match === void 0) continue;
		if (layer.handle === way.self) {
			yield { meets: "self" };
			continue;
		}
		if (layer.route !== void 0) {
			yield {
				meets: "route",
				template: above + String(layer.route.path),
				methods: layer.route.methods
			};
			continue;
		}
		const matched = match.path.replace(/\/$/, "");
		const [app] = layer.name === "mounted_app" ? way.apps : [];
		const pattern = patternOf(layer, app, match);
		const own = above + (matched === "" ? "" : templateOf(matched, {
			...match,
			pattern
		}, way.caseSensitive));
		if (layer.handle.stack !== void 0) yield* stepsThrough(way, layer.handle.stack, below(path, match), own);
		else if (app !== void 0) yield* stepsThrough({
			...way,
			apps: way.apps.slice(1)
		}, layersOf(app), below(path, match), own);
		else if (layer.name === "mounted_app") yield {
			meets: "application",
			template: own
		};
		else if (matched !== "" && layer.handle.length < 4) yield {
			meets: "handler",
			template: own
		};
	}
}
function handles(methods, method) {
	return methods["_all"] === true || methods[method] === true || method === "get" && methods["head"] === true;
}
const framework = {
	address: (request) => request.ip,
	method: (request) => request.method,
	route: (request, method) => routeTemplate(request, void 0, method),
	header: (request, name) => request.get(name),
	user: (request) => userIdOf(request.user),
	rawRequest: (request) => request,
	marks: weakMapMarks,
	rawResponse: (response) => response,
	getHeader: (response, name) => fieldText(response.getHeader(name)),
	setHeader: (response, name, value) => {
		response.setHeader(name, value);
	},
	removeHeader: (response, name) => {
		response.removeHeader(name);
	},
	setStatus: (response, status) => {
		response.statusCode = status;
	},
	send: (response, body) => {
		response.end(body);
	},
	record: (request, info) => {
		request.rateLimit = info;
	},
	proxyTrust: (request) => request.app.get("trust proxy fn")
};
function frameworkFor(self) {
	return {
		...framework,
		route: (request, method) => routeTemplate(request, self(), method),
		record: (request, info) => {
			framework.record(request, info);
		}
	};
}
function rateLimit(options) {
	const { enforcer, layer } = createEnforcer(options, frameworkFor(() => handler));
	const handler = (request, response, next) => {
		enforcer.limitThen(request, response, next);
	};
	return withLimiter(handler, layer);
}
function RateLimit(options) {
	const framework = frameworkFor(() => void 0);
	return methodDecorator(() => new Layer(options, framework), (method, place) => {
		const { enforcer } = createEnforcer(namedByPlace(options, place), framework);
		return async function(...args) {
			const [request, response, next] = args;
			try {
				return await enforcer.limit(request, response) ? await method.apply(this, args) : void 0;
			} catch (error) {
				if (next === void 0) throw error;
				next(asError(error));
				return;
			}
		};
	});
}
export { RateLimit, framework, rateLimit };
