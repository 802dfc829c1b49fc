// VitePress's own theme, without its font: no request for what a machine has.
import DefaultTheme from 'vitepress/theme-without-fonts';
import { defineAsyncComponent, h } from 'vue';
import NotFound from './NotFound.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': () => h(NotFound) }),
  enhanceApp({ app }) {
    // Loaded by the one page that has it.
    app.component(
      'Playground',
      defineAsyncComponent(() => import('./playground/Playground.vue')),
    );
  },
};
